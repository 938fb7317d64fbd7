#include "report_words.h"

#include <kymo/kymo.h>
#include <string.h>

#include "memory.h"
#include "naming.h"
#include "terminal.h"
#include "text.h"

void kymo__cli_label(const char *name)
{
    printf("%*s%s%-*s%s", CLI_INDENT, "", kymo__cli_colour(CLI_DIM), CLI_LABEL, name,
           kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_heading(const char *title)
{
    printf("\n%s%s%s\n", kymo__cli_colour(CLI_BOLD), title, kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_print_ending(const char *path, const struct kymo_info *info)
{
    kymo__cli_label("ended");
    switch (info->ending) {
    case KYMO_ENDED_RUNNING:
        printf("still being recorded by process %lld; this shows what is written so far\n",
               (long long)info->pid);
        break;
    case KYMO_ENDED_KILLED:
        fputs(kymo__cli_colour(CLI_YELLOW), stdout);
        if (info->recovered_records > 0) {
            printf("the process was killed; %s recovered from ",
                   kymo__cli_count(info->recovered_records, "record was", "records were").text);
            kymo__cli_put_clean(stdout, path);
            fputs(".live", stdout);
        } else if (info->live_bytes > 0) {
            fputs("the process was killed; everything written before that is here", stdout);
        } else {
            fputs("incomplete: the process was killed, or the file was truncated", stdout);
        }
        printf("%s\n", kymo__cli_colour(CLI_PLAIN));
        break;
    case KYMO_ENDED_FAILED:
        printf("%swriting failed: %s; everything written before that is here%s\n",
               kymo__cli_colour(CLI_YELLOW),
               info->error ? kymo_strerror(info->error) : "the reason is not known",
               kymo__cli_colour(CLI_PLAIN));
        break;
    default:
        printf("%s\n", kymo__cli_name_ending(info->ending).phrase);
    }
}

kymo_ns kymo__cli_lasted(struct kymo_capture *capture, const struct kymo_info *info)
{
    uint64_t ticks;
    int64_t monotonic, wall;
    kymo_ns end = info->end;
    /* A session reads the clock one last time when it stops. */
    if (info->snapshots &&
        kymo_capture_snapshot(capture, info->snapshots - 1, &ticks, &monotonic, &wall) == 0 &&
        monotonic > end && info->ending == KYMO_ENDED_CLEAN)
        end = monotonic;
    return end - info->start;
}

struct cli_text kymo__cli_percent(kymo_ns part, kymo_ns whole)
{
    struct cli_text text;
    snprintf(text.text, sizeof text.text, "%.1f",
             whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
    return text;
}

void kymo__cli_left_out(size_t count, size_t most)
{
    if (count > most)
        printf("%*s%s… and %s more; --json has them all%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_grouped(count - most).text,
               kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_print_folded(const char *what)
{
    printf("%*s%s%s inside libraries is counted for the call into them; --unfold shows them%s\n",
           CLI_INDENT, "", kymo__cli_colour(CLI_DIM), what, kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_print_rest_end(const char *text, int used)
{
    int width = kymo__cli_terminal_width();
    const char *rest = text;
    if (width > 0 && used + kymo__cli_cells(text) > width)
        rest = kymo__cli_fit_end(text, width > used ? width - used - 1 : 0);
    printf("%s%s\n", rest > text ? "…" : "", rest);
}

/* The end of PATH that identifies the file: the path below site-packages, else the last two
   components. */
static const char *short_path(const char *path)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        const char *found = strstr(path, packages[i]);
        if (found)
            return found + strlen(packages[i]);
    }
    const char *cut = path;
    int parts = 0;
    for (const char *at = path + strlen(path); at > path; at--)
        if (at[-1] == '/' && ++parts == 2) {
            cut = at;
            break;
        }
    return parts == 2 ? cut : path;
}

char *kymo__cli_where(const struct kymo_callable *callable)
{
    switch (callable->class) {
    case KYMO_CLASS_NAME:
        return kymo__cli_format("(span)");
    case KYMO_CLASS_GC:
        return kymo__cli_format("(garbage collector)");
    case KYMO_CLASS_OPERATOR:
        return kymo__cli_format("(operator)");
    case KYMO_CLASS_FUNCTION:
    case KYMO_CLASS_WAIT:
        break;
    default: {
        if (callable->class > KYMO_CLASS_WAIT)
            return kymo__cli_format("-");
        const char *what = callable->class == KYMO_CLASS_TYPE       ? "type"
                           : callable->class == KYMO_CLASS_CALLABLE ? "object"
                                                                    : "C";
        return *callable->file ? kymo__cli_format("(%s, %s)", what, short_path(callable->file))
                               : kymo__cli_format("(%s)", what);
    }
    }
    if (!*callable->file)
        return kymo__cli_format("-");
    return callable->line ? kymo__cli_format("%s:%u", short_path(callable->file), callable->line)
                          : kymo__cli_format("%s", short_path(callable->file));
}

void kymo__cli_put_path(FILE *out, const struct kymo_tree *tree,
                        const struct kymo_callable *callables, uint32_t node)
{
    enum { FIRST = 2, LAST = 5 };
    size_t length = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        length++;
    uint32_t *path = kymo__cli_array(length, sizeof *path);
    size_t left = length;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        path[--left] = tree->nodes[at].callable;
    /* Consecutive calls of one function take one place. */
    size_t *times = kymo__cli_array(length, sizeof *times), places = 0;
    for (size_t i = 0; i < length; i++) {
        if (places == 0 || path[places - 1] != path[i])
            path[places++] = path[i];
        times[places - 1]++;
    }
    for (size_t i = 0; i < places; i++) {
        fputs(i > 0 ? " > " : "", out);
        if (places > FIRST + LAST + 1 && i == FIRST) {
            fprintf(out, "(%zu more)", places - FIRST - LAST);
            i = places - LAST - 1;
            continue;
        }
        kymo__cli_put_clean(out, callables[path[i]].name);
        if (times[i] > 1)
            fprintf(out, " (%zu times)", times[i]);
    }
    kymo__cli_free(times);
    kymo__cli_free(path);
}
