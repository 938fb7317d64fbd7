/* Any capture can be reckoned and exported without harm; inputs are those of fuzz_reader.c. */
#include "survey.h"

static void reckon_everything(struct kymo_capture *capture);
#define FUZZ_READ reckon_everything
#include "fuzz_reader.c"

static int check_slice(void *arg, const struct kymo_slice *slice)
{
    (void)arg;
    if (slice->end < slice->frame->start || slice->self < 0 ||
        (slice->depth > 0 && slice->frame[-1].start > slice->frame->start))
        abort();
    return 0;
}

/* Calls nest, and what they cost adds up. */
static void reckon(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    const struct kymo_visitor visitor = {.leave = check_slice};
    for (uint32_t i = 0; i < 4 && i < capture->reader->thread_count; i++) {
        struct kymo_calls calls;
        int rc = kymo__calls_init(&calls, capture, i, from, to, &visitor);
        while (rc == 0 && (rc = kymo__calls_read(&calls, 1000)) > 0)
            rc = 0;
        kymo__calls_fini(&calls);
    }
    struct kymo_survey *survey;
    const struct kymo_survey_options options = {.from = from, .to = to, .workers = 1, .nodes = 100};
    if (kymo__survey(capture, &options, &survey) == 0)
        kymo__survey_free(survey);
}

static void reckon_everything(struct kymo_capture *capture)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    reckon(capture, INT64_MIN, INT64_MAX);
    reckon(capture, info.start + 1, info.end);
    /* One format for each input is enough: there are many inputs. */
    uint32_t formats = 0;
    while (kymo_export_format(formats, NULL, NULL, NULL) == 0)
        formats++;
    struct kymo_export_options options = {.size = sizeof(options), .to = INT64_MAX, .thread = -1};
    kymo_export_format((uint32_t)(info.file_bytes % formats), &options.format, NULL, NULL);
    kymo_export(capture, "/dev/null", &options);
    struct kymo_columns *columns;
    if (kymo_columns_new(capture, NULL, &columns) == 0) {
        while (kymo_columns_next(columns) > 0)
            ;
        kymo_columns_free(columns);
    }
}
