/* torchlib.c — see torchlib.h. */
#include "torchlib.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct kymo__torch_lib lib;
const struct kymo__torch_lib *kymo__torch_lib_known; /* &lib once it is complete */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* torch loads its libraries with local visibility, so that they are not found by symbol. */
static int see_library(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!file || strncmp(file, "/libtorch_cpu.so", 16) != 0)
        return 0;
    snprintf(path, sizeof(lib.path), "%s", info->dlpi_name);
    return 1;
}

static bool find_symbols(void *handle)
{
    const struct {
        void *to;
        const char *name;
        bool optional;
    } symbols[] = {
        {&lib.add, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", false},
        {&lib.remove, "_ZN2at14removeCallbackEm", false},
        {&lib.name, "_ZNK2at14RecordFunction4nameEv", false},
        {&lib.inputs, "_ZNK2at14RecordFunction10num_inputsEv", false},
        {&lib.outputs, "_ZNK2at14RecordFunction11num_outputsEv", false},
        {&lib.thread, "_ZN2at14RecordFunction15currentThreadIdEv", false},
        {&lib.sequence, "_ZN2at15sequence_number4peekEv", false},
        {&lib.global, "_ZN2at18hasGlobalCallbacksEv", true},
        {&lib.async, "_ZNK2at14RecordFunction7isAsyncEv", true},
        {&lib.local, "_ZN2at23hasThreadLocalCallbacksEv", true},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol && !symbols[i].optional)
            return false;
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return true;
}

const struct kymo__torch_lib *kymo__torch_find(void)
{
    pthread_mutex_lock(&lock);
    if (!kymo__torch_lib_known && dl_iterate_phdr(see_library, lib.path)) {
        void *handle = dlopen(lib.path, RTLD_NOW | RTLD_NOLOAD); /* never closed: we are called */
        if (handle && find_symbols(handle))
            __atomic_store_n(&kymo__torch_lib_known, &lib, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return kymo__torch_lib_known;
}
