/* perfclock.c — see perfclock.h. */
#include "perfclock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "owned.h"

bool kymo__perfclock_refused;

static int send_to(int fd, uint32_t tid, int signal)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};
    if (fcntl(fd, F_SETSIG, signal) < 0 || fcntl(fd, F_SETOWN_EX, &owner) < 0 ||
        fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

int kymo__perfclock_open(uint32_t tid, int signal, int64_t period)
{
    /* Include time in the kernel; otherwise a system call would be charged to what runs after
       it. Where that is not allowed (perf_event_paranoid above 1), timers are used. */
    struct perf_event_attr clock = {
        .size = sizeof(clock),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = (uint64_t)period,
        .disabled = 1,
        .exclude_hv = 1,
        .wakeup_events = 1,
    };
    if (kymo__perfclock_refused)
        return -EACCES;
    int fd = (int)syscall(SYS_perf_event_open, &clock, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -errno;
    fd = kymo__fd_raise(fd);
    int rc = send_to(fd, tid, signal);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}

uint64_t kymo__perfclock_id(int fd)
{
    uint64_t id = 0;
    return ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ? 0 : id;
}

void kymo__perfclock_run(int fd, uint64_t id, bool run)
{
    if (kymo__perfclock_id(fd) == id)
        ioctl(fd, run ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void kymo__perfclock_end(int fd, uint64_t id)
{
    if (kymo__perfclock_id(fd) != id)
        return;
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    fcntl(fd, F_SETFL, O_NONBLOCK); /* stop signals that have not been sent yet */
    close(fd);
}

void kymo__perfclock_forked(int fd, uint64_t id)
{
    if (kymo__perfclock_id(fd) == id)
        close(fd);
}
