/* Names of C++ and of Rust are shown as their programmers wrote them. */
#include <dlfcn.h>

#include "alloc.h"
#include "check.h"
#include "demangle.h"

static void check_demangled(const char *name, const char *expected)
{
    char *text;
    CHECK_EQ(kymo__demangle(name, strlen(name), &text), 0);
    CHECK_STR(text ? text : name, expected);
    kymo__free(text);
}

static void names_are_demangled_where_there_is_a_cxx_library(void)
{
    if (!dlopen("libstdc++.so.6", RTLD_LAZY) && !dlopen("libc++abi.so.1", RTLD_LAZY))
        CHECK_SKIP("there is no C++ library to demangle with");
    check_demangled("_ZN5outer5inner3boxIdE5twiceEd", "outer::inner::box<double>::twice(double)");
    check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                    "core::fmt::Write::write_fmt");
    check_demangled("_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt17h"
                    "0123456789abcdefE",
                    "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt");
    check_demangled("_Z", "_Z");
    check_demangled("_Znot a name", "_Znot a name");
    check_demangled("main", "main");
}

/* As llvm-cxxfilt prints them. */
static void newer_names_of_rust_are_demangled(void)
{
    check_demangled("_RNvNtNtCsfEOYDRpO4Ta_11miniz_oxide7inflate4core10decompress",
                    "miniz_oxide::inflate::core::decompress");
    check_demangled(
        "_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsgEmfK2I1SDS_4core3ops"
        "8function6FnOnceuE9call_once6vtableCs6GmmlP4bgsG_1r.llvm.3794398366585883001",
        "<std::rt::lang_start<()>::{closure#0} as core::ops::function::FnOnce<()>>::"
        "call_once::{shim:vtable#0}");
    check_demangled(
        "_RNvMNtCsgEmfK2I1SDS_4core6escapeINtB2_15EscapeIterInnerKja_NtB2_12MaybeEscapedE7to_charB4_",
        "<core::escape::EscapeIterInner<10, core::escape::MaybeEscaped>>::to_char");
    check_demangled(
        "_RINvC1a1fReQhPlOcAhj3_SeTlhEFKCdEuDNtC1a1TEL_E",
        "a::f::<&str, &mut u8, *const i32, *mut char, [u8; 3], [str], (i32, u8), extern "
        "\"C\" fn(f64), dyn a::T>");
    check_demangled("_RINvC1a1fFG_RL0_eEuE", "a::f::<for<'a> fn(&'a str)>");
    check_demangled("_RINvC1a1fKb1_Kc61_Kln5_E", "a::f::<true, 'a', -5>");
    /* Not names, or endless ones. */
    check_demangled("_R", "_R");
    check_demangled("_RNvC1a", "_RNvC1a");
    check_demangled("_RB_", "_RB_");
    check_demangled("_RNvB_1a", "_RNvB_1a");
    check_demangled("_RNvC99999999999999999999a1b", "_RNvC99999999999999999999a1b");
}

/* Each argument is twice the one before it: forty of them would fill any memory. */
static void a_name_of_rust_that_doubles_stays_as_it_is(void)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[1024] = "_RINvC1a1fThhE";
    size_t last = strlen("INvC1a1f"), len = strlen(name);
    for (int i = 0; i < 40; i++) {
        size_t here = len - 2, to = last - 1;
        char reference[8];
        if (to < 62)
            snprintf(reference, sizeof(reference), "B%c_", digits[to]);
        else
            snprintf(reference, sizeof(reference), "B%c%c_", digits[to / 62], digits[to % 62]);
        len += (size_t)snprintf(name + len, sizeof(name) - len, "T%s%sE", reference, reference);
        last = here;
    }
    char ends[1032];
    snprintf(ends, sizeof(ends), "%sE", name);

    check_demangled(ends, ends);
    check_demangled("_RINvC1a1fThhETB7_B7_EE", "a::f::<(u8, u8), ((u8, u8), (u8, u8))>");
}

static const struct check_case cases[] = {
    CHECK_CASE(names_are_demangled_where_there_is_a_cxx_library),
    CHECK_CASE(newer_names_of_rust_are_demangled),
    CHECK_CASE(a_name_of_rust_that_doubles_stays_as_it_is),
};

CHECK_MAIN(cases)
