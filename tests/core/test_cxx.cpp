// The public headers can be used from C++.
#include <kymo/kymo.h>
#include <kymo/lane.h>
#include <kymo/source.h>

#include <cstdio>
#include <stdlib.h>
#include <unistd.h>

namespace
{
class span
{
  public:
    explicit span(const char *name) : open(kymo_span_begin(name)) {}
    ~span() { kymo_span_end(open); }
    span(const span &) = delete;
    span &operator=(const span &) = delete;

  private:
    kymo_span open;
};

void record()
{
    span outer("outer");
    kymo_arg("number", 1);
    kymo_arg_text("text", "of it");
    kymo_instant("instant");
    kymo_counter("counter", 1.5);
    kymo_flow_out("flow", 1);
    kymo_flow_in("flow", 1);
    kymo_async_begin("async", 2);
    kymo_async_end("async", 2);
    kymo_lane *lane;
    if (kymo_record *at = kymo_lane_claim(&lane, 1)) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_INSTANT, 0, 1));
        kymo_lane_commit(lane, at + 1);
    }
}

int count(const char *path)
{
    kymo_capture *capture = nullptr;
    kymo_cursor *cursor = nullptr;
    if (kymo_open(path, &capture) < 0 || kymo_cursor_new(capture, nullptr, &cursor) < 0)
        return -1;
    int events = 0;
    kymo_event event = {};
    event.size = sizeof(event);
    while (kymo_cursor_next(cursor, &event) > 0)
        events++;
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return events;
}
} // namespace

int main()
{
    char path[] = "/tmp/kymograph-test-cxx-XXXXXX";
    close(mkstemp(path));
    kymo_options options = {};
    options.size = sizeof(options);
    options.path = path;
    int rc = kymo_start(&options);
    if (rc == 0) {
        record();
        rc = kymo_stop();
    }
    int events = rc == 0 ? count(path) : 0;
    unlink(path);
    std::printf("1..1\n");
    std::printf("# %s, %d events, %s\n", rc < 0 ? kymo_strerror(rc) : "fine", events,
                kymo_tracer_name());
    std::printf("%s 1 - a_program_in_cxx_records_and_reads\n", events == 11 ? "ok" : "not ok");
    return events == 11 ? 0 : 1;
}
