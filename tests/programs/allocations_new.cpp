/* allocations_new.cpp — see allocations.h: every form of operator new and delete. */
#include "allocations.h"

#include <new>

namespace
{

struct made *list;
size_t count;

void *got(const char *function, size_t size, void *at)
{
    list[count++] = {"memory.alloc", function, size, at, nullptr};
    return at;
}

void *lost(void *at)
{
    list[count++] = {"memory.free", "", 0, at, nullptr};
    return at;
}

void *volatile sink;

void single()
{
    const auto wide = std::align_val_t(128);
    void *a = got("operator new", 21, sink = ::operator new(21));
    void *b = got("operator new", 22, sink = ::operator new(22, std::nothrow));
    void *c = got("operator new", 23, sink = ::operator new(23, wide));
    void *d = got("operator new", 24, sink = ::operator new(24, wide, std::nothrow));
    ::operator delete(lost(a));
    ::operator delete(lost(b), std::nothrow);
    ::operator delete(lost(c), wide);
    ::operator delete(lost(d), wide, std::nothrow);
    a = got("operator new", 25, sink = ::operator new(25));
    ::operator delete(lost(a), std::size_t(25));
    c = got("operator new", 26, sink = ::operator new(26, wide));
    ::operator delete(lost(c), std::size_t(26), wide);
}

void arrays()
{
    const auto wide = std::align_val_t(128);
    void *a = got("operator new[]", 31, sink = ::operator new[](31));
    void *b = got("operator new[]", 32, sink = ::operator new[](32, std::nothrow));
    void *c = got("operator new[]", 33, sink = ::operator new[](33, wide));
    void *d = got("operator new[]", 34, sink = ::operator new[](34, wide, std::nothrow));
    ::operator delete[](lost(a));
    ::operator delete[](lost(b), std::nothrow);
    ::operator delete[](lost(c), wide);
    ::operator delete[](lost(d), wide, std::nothrow);
    a = got("operator new[]", 35, sink = ::operator new[](35));
    ::operator delete[](lost(a), std::size_t(35));
    c = got("operator new[]", 36, sink = ::operator new[](36, wide));
    ::operator delete[](lost(c), std::size_t(36), wide);
}

} // namespace

size_t allocations_new(struct made *into)
{
    list = into;
    count = 0;
    single();
    arrays();
    /* One that throws: what comes after it is recorded as before. */
    volatile size_t huge = size_t(-1) / 4;
    list[count++] = {"throws", "", 0, nullptr, nullptr};
    try {
        sink = ::operator new(huge);
    } catch (const std::bad_alloc &) {
        list[count++] = {"caught", "", 0, nullptr, nullptr};
    }
    void *z = got("operator new", 41, sink = ::operator new(41));
    ::operator delete(lost(z));
    return count;
}

void allocations_churn(int count, size_t size)
{
    volatile size_t huge = size_t(-1) / 4;
    while (count--) {
        sink = ::operator new(size);
        ::operator delete(sink);
        try {
            if (count % 1000 == 0)
                sink = ::operator new(huge);
        } catch (const std::bad_alloc &) {
        }
    }
}
