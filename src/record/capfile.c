/* capfile.c — see capfile.h. */
#include "capfile.h"

#include "live.h"
#include "lock.h"
#include "switch.h"

void kymo__capfile_init(struct kymo_capfile *file, struct kymo_live *live)
{
    pthread_mutex_init(&file->lock, NULL);
    file->sink.file.fd = -1;
    file->live = live;
}

void kymo__capfile_fini(struct kymo_capfile *file)
{
    kymo__sink_close(&file->sink);
    pthread_mutex_destroy(&file->lock);
}

void kymo__capfile_halt(struct kymo_capfile *file, int reason)
{
    int none = 0;
    if (!kymo__swap_if(&file->halted, &none, reason))
        return;
    kymo__store_relaxed(&file->live->header->error, reason);
    kymo__switch_set(0);
}

int kymo__capfile_place(struct kymo_capfile *file, const struct kymo_packed *packed,
                        uint64_t *offset)
{
    kymo__lock(&file->lock);
    *offset = file->sink.end;
    int rc = kymo__sink_append(&file->sink, packed->bytes, packed->len);
    if (rc < 0)
        kymo__store_relaxed(&file->live->header->error, file->sink.error);
    kymo__store_relaxed(&file->failing, (uint32_t)(rc < 0));
    kymo__unlock(&file->lock);
    if (rc == KYMO_ETAKEN)
        kymo__capfile_halt(file, rc);
    return rc;
}

int kymo__capfile_append(void *arg, const struct kymo_packed *packed)
{
    uint64_t offset;
    return kymo__capfile_place(arg, packed, &offset);
}

int kymo__capfile_records(struct kymo_capfile *file, const struct kymo_packed *packed,
                          uint64_t *offset)
{
    int rc = kymo__capfile_place(file, packed, offset);
    if (rc == 0)
        kymo__add_relaxed(&file->written_records, (uint64_t)packed->header->records);
    return rc;
}

int kymo__capfile_finish(struct kymo_capfile *file, struct kymo_packer *packer)
{
    kymo__lock(&file->lock); /* a thread stuck in a recording call may still be helping */
    int rc = kymo__sink_finish(&file->sink, packer);
    kymo__unlock(&file->lock);
    return rc;
}
