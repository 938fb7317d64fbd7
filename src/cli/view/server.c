/* server.c — see server.h. The HTTP is libmicrohttpd's. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "alloc.h"
#include "answers.h"
#include "atomic.h"
#include "clock.h"
#include "guard.h"
#include "pages.h"

enum {
    CONNECTIONS = 64,
    MEMORY = 64 << 10, /* of a connection: limits what a request may be */
    IDLE_SECONDS = 60,
    PING_MS = 3000,
    STEP_MS = 100,
};

struct view_server {
    struct view *view;
    struct MHD_Daemon *daemon;
    struct view_guard guard;
    char address[128];
    unsigned pages; /* atomic: pages that listen for news */
    int seen;       /* atomic: one ever did */
};

/* Whoever sent a request. */
struct asker {
    struct MHD_Connection *connection;
    int fd;
};

static const char *request_value(void *arg, const char *name)
{
    const struct asker *asker = arg;
    return MHD_lookup_connection_value(asker->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* A page that wants something else by now closes the connection. */
static bool is_gone(void *arg)
{
    const struct asker *asker = arg;
    char byte;
    ssize_t n = asker->fd < 0 ? 1 : recv(asker->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static enum MHD_Result send_response(struct MHD_Connection *connection,
                                     struct MHD_Response *response, unsigned status,
                                     const char *type, bool lasting)
{
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control",
                            lasting ? "private, max-age=86400, immutable" : "no-store");
    MHD_add_response_header(response, "Content-Security-Policy", kymo__timeline_policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    MHD_add_response_header(response, "X-Frame-Options", "DENY");
    enum MHD_Result sent = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result send_words(struct MHD_Connection *connection, unsigned status,
                                  const char *words)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(words), (void *)(uintptr_t)words, MHD_RESPMEM_PERSISTENT);
    return send_response(connection, response, status, "text/plain; charset=utf-8", false);
}

static enum MHD_Result send_page(struct MHD_Connection *connection)
{
    static const char data[] = "{\"server\": true}";
    size_t before = strlen(kymo__timeline_before), after = strlen(kymo__timeline_after);
    char *page = malloc(before + sizeof data + after);
    if (!page)
        return MHD_NO;
    memcpy(page, kymo__timeline_before, before);
    memcpy(page + before, data, sizeof data - 1);
    memcpy(page + before + sizeof data - 1, kymo__timeline_after, after);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        before + sizeof data - 1 + after, page, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(page);
    return send_response(connection, response, 200, "text/html; charset=utf-8", false);
}

static enum MHD_Result send_answer(struct view_server *server, struct MHD_Connection *connection,
                                   const char *name)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct asker asker = {connection, info ? info->connect_fd : -1};
    const struct view_request request = {server->view, request_value, is_gone, &asker};
    struct view_answer answer;
    kymo__view_answer(&request, name, &answer);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer.text ? answer.text_length : answer.bytes.len,
        answer.text ? (void *)answer.text : answer.bytes.bytes, MHD_RESPMEM_MUST_COPY);
    if (response && answer.file_name) {
        char text[128];
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", answer.file_name);
        MHD_add_response_header(response, "Content-Disposition", text);
    }
    enum MHD_Result sent =
        send_response(connection, response, answer.status, answer.type, answer.lasting);
    kymo__view_answer_fini(&answer);
    return sent;
}

/* ------------------------------------------------------------------- news --- */

/* One page that listens. */
struct listener {
    struct view_server *server;
    uint64_t told[VIEW_CAPTURES]; /* generations that the page knows of */
};

static bool has_news(struct listener *listener)
{
    struct view *view = listener->server->view;
    bool news = false;
    pthread_mutex_lock(&view->lock);
    for (unsigned i = 0; i < view->count; i++) {
        news |= view->state[i]->generation != listener->told[i];
        listener->told[i] = view->state[i]->generation;
    }
    pthread_mutex_unlock(&view->lock);
    return news;
}

/* Wait for news or until it is time for a sign of life, by which a page that has gone is noticed. */
static ssize_t write_news(void *arg, uint64_t position, char *text, size_t most)
{
    struct listener *listener = arg;
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    const char *words = ": still here\n\n";
    (void)position;
    for (int waited = 0; waited < PING_MS; waited += STEP_MS) {
        if (kymo__load_relaxed(&listener->server->view->stopping))
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (has_news(listener)) {
            words = "event: grown\ndata: {}\n\n";
            break;
        }
        nanosleep(&step, NULL);
    }
    size_t length = strlen(words);
    length = length < most ? length : most;
    memcpy(text, words, length);
    return (ssize_t)length;
}

static void end_news(void *arg)
{
    struct listener *listener = arg;
    kymo__add_relaxed(&listener->server->pages, -1u);
    kymo__free(listener);
}

static enum MHD_Result send_news(struct view_server *server, struct MHD_Connection *connection)
{
    struct listener *listener = kymo__alloc_zeroed(sizeof(*listener));
    if (!listener)
        return MHD_NO;
    listener->server = server;
    kymo__add_relaxed(&server->pages, 1);
    has_news(listener);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 256, write_news, listener, end_news);
    if (!response) {
        end_news(listener);
        return MHD_NO;
    }
    kymo__store_relaxed(&server->seen, 1);
    return send_response(connection, response, 200, "text/event-stream", false);
}

/* --------------------------------------------------------------- requests --- */

static void read_request(struct MHD_Connection *connection, const char *method, const char *path,
                         struct view_guard_request *request)
{
    *request = (struct view_guard_request){
        .method = method,
        .path = path,
        .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
        .origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
        .site = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
    };
}

static enum MHD_Result take_request(void *arg, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *body,
                                    size_t *body_size, void **state)
{
    struct view_server *server = arg;
    struct view_guard_request request;
    const char *name;
    static int begun;
    (void)version, (void)body;
    /* Answered only when all of it has come: the connection then stays open for the next one. */
    if (*state != &begun) {
        *state = &begun;
        return MHD_YES;
    }
    if (*body_size) {
        *body_size = 0; /* no request has a body */
        return MHD_YES;
    }
    read_request(connection, method, path, &request);
    unsigned status = kymo__guard_check(&server->guard, &request, &name);
    if (status == 405)
        return send_words(connection, status, "only GET is served\n");
    if (status == 404)
        return send_words(connection, status, "there is nothing here\n");
    if (status != 200)
        return send_words(connection, status,
                          "refused; open the address that kymograph view printed\n");
    if (!*name)
        return send_page(connection);
    if (strcmp(name, "news") == 0)
        return send_news(server, connection);
    return send_answer(server, connection, name);
}

/* Paths and values stay as they were sent where they are not valid. */
static void ignore_message(void *arg, const char *format, va_list list)
{
    (void)arg, (void)format, (void)list;
}

int kymo__server_start(struct view *view, uint16_t port, struct view_server **out)
{
    struct view_server *server = kymo__alloc_zeroed(sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->view = view;
    const struct sockaddr_in loopback = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int rc = kymo__guard_init(&server->guard);
    errno = 0;
    if (rc == 0)
        server->daemon = MHD_start_daemon(
            MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
                MHD_USE_ERROR_LOG,
            port, NULL, NULL, take_request, server, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
            NULL, MHD_OPTION_SOCK_ADDR, &loopback, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
            (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (rc == 0 && !server->daemon)
        rc = errno ? -errno : -EADDRINUSE;
    const union MHD_DaemonInfo *bound =
        server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!bound) {
        kymo__server_stop(server);
        return rc < 0 ? rc : -EIO;
    }
    server->guard.port = bound->port;
    snprintf(server->address, sizeof server->address, "http://127.0.0.1:%u/%s/", server->guard.port,
             server->guard.token);
    *out = server;
    return 0;
}

void kymo__server_stop(struct view_server *server)
{
    if (!server)
        return;
    kymo__store_relaxed(&server->view->stopping, 1);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    kymo__free(server);
}

const char *kymo__server_address(const struct view_server *server)
{
    return server->address;
}

unsigned kymo__server_pages(const struct view_server *server, bool *seen)
{
    *seen = kymo__load_relaxed(&server->seen);
    return kymo__load_relaxed(&server->pages);
}
