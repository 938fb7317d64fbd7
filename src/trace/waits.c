/* waits.c — see waits.h. */
#include "waits.h"

#include <kymo/lane.h>
#include <string.h>

/* Functions that wait, by module. */
static const struct {
    const char *module;
    const char *const names[16]; /* ends with NULL */
} waiting[] = {
    {"_thread",
     {"lock.acquire", "lock.__enter__", "lock.acquire_lock", "RLock.acquire", "RLock.__enter__",
      "_ThreadHandle.join"}},
    {"time", {"sleep"}},
    {"select",
     {"epoll.poll", "poll.poll", "select", "poll", "select.select", "kqueue.control",
      "devpoll.poll"}},
    {"_queue", {"SimpleQueue.get"}},
    {"_socket",
     {"socket.recv", "socket.recv_into", "socket.recvfrom", "socket.recvfrom_into",
      "socket.recvmsg", "socket._accept", "socket.accept", "socket.connect", "socket.connect_ex",
      "getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo"}},
    {"_ssl", {"_SSLSocket.read", "_SSLSocket.do_handshake"}},
    {"posix", {"wait", "waitpid", "waitid", "wait3", "wait4"}},
    {"_signal", {"pause", "sigwait", "sigwaitinfo", "sigtimedwait"}},
    {"_multiprocessing", {"SemLock.acquire", "SemLock.__enter__"}},
    {"fcntl", {"flock", "lockf"}},
    {"builtins", {"input"}},
    {"torch._C", {"_cuda_synchronize"}},
};

bool kymo__key_waits(uint32_t kind, const char *name, const char *file)
{
    if (kind != KYMO_CLASS_NATIVE && kind != KYMO_CLASS_METHOD && kind != KYMO_CLASS_CALLABLE)
        return false;
    for (size_t i = 0; i < sizeof(waiting) / sizeof(*waiting); i++)
        for (size_t j = 0; waiting[i].names[j]; j++)
            if (strcmp(name, waiting[i].names[j]) == 0 && strcmp(file, waiting[i].module) == 0)
                return true;
    return false;
}
