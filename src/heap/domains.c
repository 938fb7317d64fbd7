/* domains.c — see domains.h. */
#include "domains.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lock.h"

enum { MOST = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the arrays' ends */
static struct domain {
    struct kymo_memory_domain table; /* a copy; absent functions are NULL */
    const struct kymo_memory_domain *given;
    void *user;
    bool installed;
} domains[MOST];
static unsigned domain_count;
static const void *excluded[MOST];
static unsigned excluded_count;

int kymo_memory_domain_register(const struct kymo_memory_domain *given, void *user)
{
    if (!given || given->size < offsetof(struct kymo_memory_domain, install) || !given->name)
        return -EINVAL;
    struct domain domain = {.given = given, .user = user};
    memcpy(&domain.table, given,
           given->size < sizeof(domain.table) ? given->size : sizeof(domain.table));
    int rc = 0;
    kymo__lock(&lock);
    for (unsigned i = 0; i < domain_count; i++)
        if (domains[i].given == given || strcmp(domains[i].table.name, given->name) == 0)
            rc = KYMO_EREGISTERED;
    if (rc == 0 && domain_count == MOST)
        rc = -ENOSPC;
    if (rc == 0) {
        domains[domain_count] = domain;
        kymo__store_release(&domain_count, domain_count + 1);
    }
    kymo__unlock(&lock);
    return rc;
}

int kymo_memory_exclude(const void *address)
{
    int rc = 0;
    kymo__lock(&lock);
    if (excluded_count == MOST)
        rc = -ENOSPC;
    else
        excluded[excluded_count++] = address;
    kymo__unlock(&lock);
    return rc;
}

unsigned kymo__excluded(const void *addresses[MOST])
{
    kymo__lock(&lock);
    unsigned count = excluded_count;
    memcpy(addresses, excluded, sizeof(excluded));
    kymo__unlock(&lock);
    return count;
}

unsigned kymo__domains_install(const struct kymo_memory_options *options)
{
    unsigned what = 0, count = kymo__load_acquire(&domain_count);
    for (unsigned i = 0; i < count; i++) {
        struct domain *domain = &domains[i];
        int bits = domain->table.install ? domain->table.install(domain->user, options) : 0;
        domain->installed = bits >= 0;
        what |= bits >= 0 ? (unsigned)bits : 0;
    }
    return what;
}

void kymo__domains_remove(void)
{
    for (unsigned i = kymo__load_acquire(&domain_count); i-- > 0;) {
        struct domain *domain = &domains[i];
        if (domain->installed && domain->table.remove)
            domain->table.remove(domain->user);
        domain->installed = false;
    }
}

void kymo__domains_snapshot(uint32_t number)
{
    for (unsigned i = 0; i < kymo__load_acquire(&domain_count); i++)
        if (domains[i].installed && domains[i].table.snapshot)
            domains[i].table.snapshot(domains[i].user, number);
}

void kymo__domains_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    for (unsigned i = 0; i < domain_count; i++) {
        if (domains[i].installed && domains[i].table.forked)
            domains[i].table.forked(domains[i].user);
        domains[i].installed = false;
    }
}
