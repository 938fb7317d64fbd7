/* rustname.c — demangle Rust v0 names, as specified in RFC 2603; see demangle.h.

   A name is a path of crates, modules and functions, with types where needed. Repeated parts are
   back-references to a position, so a short name can expand to a very long one. Output length,
   depth and steps are limited; beyond a limit the name stays mangled. Crate hashes are omitted. */
#include <errno.h>

#include "alloc.h"
#include "demangle.h"
#include "rusttext.h"

static void path(struct kymo_rust_name *n, bool in_type);
static void type(struct kymo_rust_name *n);
static void constant(struct kymo_rust_name *n);

/* Go one level deeper; false if that is too deep or too long. */
static bool enter_level(struct kymo_rust_name *n)
{
    if (n->bad || n->depth >= DEPTH_MOST || n->steps >= STEPS_MOST) {
        n->bad = true;
        return false;
    }
    n->depth++;
    n->steps++;
    return true;
}

/* Follow a back-reference, which must point backwards; returns where to continue afterwards. */
static size_t go_back(struct kymo_rust_name *n)
{
    size_t here = n->at - 1; /* of the B */
    uint64_t to = base_62(n);
    size_t after = n->at;
    if (to >= here)
        n->bad = true;
    else
        n->at = (size_t)to;
    return after;
}

static void lifetime(struct kymo_rust_name *n, uint64_t index)
{
    if (index == 0) {
        print_text(n, "'_");
    } else if (index > n->bound) {
        n->bad = true;
    } else {
        uint64_t from_outside = n->bound - index;
        char letter[3] = {'\'', (char)('a' + from_outside % 26), '\0'};
        print_text(n, letter);
        if (from_outside >= 26)
            print_number(n, from_outside / 26);
    }
}

/* for<'a, 'b>; returns how many lifetimes, which the caller removes again. */
static uint64_t binder(struct kymo_rust_name *n)
{
    uint64_t count = optional_62(n, 'G');
    if (count > 64) {
        n->bad = true;
        return 0;
    }
    if (count == 0)
        return 0;
    print_text(n, "for<");
    for (uint64_t i = 0; i < count; i++) {
        print_text(n, i ? ", " : "");
        n->bound++;
        lifetime(n, 1);
    }
    print_text(n, "> ");
    return count;
}

static void generic_argument(struct kymo_rust_name *n)
{
    if (eat(n, 'L'))
        lifetime(n, base_62(n));
    else if (eat(n, 'K'))
        constant(n);
    else
        type(n);
}

static void generic_arguments(struct kymo_rust_name *n)
{
    for (bool first = true; !n->bad && !eat(n, 'E'); first = false) {
        print_text(n, first ? "" : ", ");
        generic_argument(n);
    }
}

/* The location of an impl says nothing about what it is; skip it. */
static void implementation(struct kymo_rust_name *n)
{
    bool silent = n->silent;
    n->silent = true;
    optional_62(n, 's');
    path(n, true);
    n->silent = silent;
}

static void nested_path(struct kymo_rust_name *n, bool in_type)
{
    char space = next_char(n);
    bool upper = space >= 'A' && space <= 'Z';
    if (!upper && !(space >= 'a' && space <= 'z')) {
        n->bad = true;
        return;
    }
    path(n, in_type);
    uint64_t which = optional_62(n, 's');
    struct identifier id = identifier(n);
    if (n->bad)
        return;
    if (!upper) {
        print_text(n, id.len ? "::" : "");
        print_identifier(n, id);
        return;
    }
    print_text(n, "::{");
    print_text(n, space == 'C' ? "closure" : space == 'S' ? "shim" : "");
    if (space != 'C' && space != 'S')
        print_bytes(n, &space, 1);
    if (id.len) {
        print_text(n, ":");
        print_identifier(n, id);
    }
    print_text(n, "#");
    print_number(n, which);
    print_text(n, "}");
}

/* With OPEN, a trait's argument list is left open for more; returns whether it is. */
static bool path_open(struct kymo_rust_name *n, bool in_type, bool open)
{
    bool left_open = false;
    if (!enter_level(n))
        return false;
    switch (next_char(n)) {
    case 'C':
        optional_62(n, 's');
        print_identifier(n, identifier(n));
        break;
    case 'M':
        implementation(n);
        print_text(n, "<");
        type(n);
        print_text(n, ">");
        break;
    case 'X':
        implementation(n);
        /* fall through */
    case 'Y':
        print_text(n, "<");
        type(n);
        print_text(n, " as ");
        path(n, true);
        print_text(n, ">");
        break;
    case 'N':
        nested_path(n, in_type);
        break;
    case 'I':
        path(n, in_type);
        print_text(n, in_type ? "<" : "::<");
        generic_arguments(n);
        left_open = open;
        print_text(n, open ? "" : ">");
        break;
    case 'B': {
        size_t after = go_back(n);
        left_open = path_open(n, in_type, open);
        n->at = after;
        break;
    }
    default:
        n->bad = true;
    }
    n->depth--;
    return left_open;
}

static void path(struct kymo_rust_name *n, bool in_type)
{
    path_open(n, in_type, false);
}

static const char *basic_type(char c)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void function_type(struct kymo_rust_name *n)
{
    uint64_t bound = n->bound;
    binder(n);
    print_text(n, eat(n, 'U') ? "unsafe " : "");
    if (eat(n, 'K')) {
        print_text(n, "extern \"");
        if (eat(n, 'C')) {
            print_text(n, "C");
        } else {
            struct identifier abi = identifier(n);
            for (size_t i = 0; i < abi.len && !n->bad; i++)
                print_bytes(n, abi.text[i] == '_' ? "-" : abi.text + i, 1);
        }
        print_text(n, "\" ");
    }
    print_text(n, "fn(");
    generic_arguments(n);
    print_text(n, ")");
    if (!eat(n, 'u')) {
        print_text(n, " -> ");
        type(n);
    }
    n->bound = bound;
}

static void dynamic_type(struct kymo_rust_name *n)
{
    uint64_t bound = n->bound;
    print_text(n, "dyn ");
    binder(n);
    for (bool first = true; !n->bad && !eat(n, 'E'); first = false) {
        print_text(n, first ? "" : " + ");
        bool open = path_open(n, true, true);
        while (!n->bad && eat(n, 'p')) {
            print_text(n, open ? ", " : "<");
            open = true;
            print_identifier(n, identifier(n));
            print_text(n, " = ");
            type(n);
        }
        print_text(n, open ? ">" : "");
    }
    n->bound = bound;
    if (!eat(n, 'L')) {
        n->bad = true;
        return;
    }
    uint64_t index = base_62(n);
    if (index) {
        print_text(n, " + ");
        lifetime(n, index);
    }
}

static void reference(struct kymo_rust_name *n, const char *mutable)
{
    print_text(n, "&");
    if (eat(n, 'L')) {
        uint64_t index = base_62(n);
        if (index) {
            lifetime(n, index);
            print_text(n, " ");
        }
    }
    print_text(n, mutable);
    type(n);
}

static void tuple(struct kymo_rust_name *n)
{
    print_text(n, "(");
    size_t count = 0;
    for (; !n->bad && !eat(n, 'E'); count++) {
        print_text(n, count ? ", " : "");
        type(n);
    }
    print_text(n, count == 1 ? ",)" : ")");
}

static void type(struct kymo_rust_name *n)
{
    if (!enter_level(n))
        return;
    const char *basic = basic_type(peek_char(n));
    char c = next_char(n);
    if (basic) {
        print_text(n, basic);
    } else if (c == 'A' || c == 'S') {
        print_text(n, "[");
        type(n);
        if (c == 'A') {
            print_text(n, "; ");
            constant(n);
        }
        print_text(n, "]");
    } else if (c == 'T') {
        tuple(n);
    } else if (c == 'R' || c == 'Q') {
        reference(n, c == 'Q' ? "mut " : "");
    } else if (c == 'P' || c == 'O') {
        print_text(n, c == 'P' ? "*const " : "*mut ");
        type(n);
    } else if (c == 'F') {
        function_type(n);
    } else if (c == 'D') {
        dynamic_type(n);
    } else if (c == 'B') {
        size_t after = go_back(n);
        type(n);
        n->at = after;
    } else {
        n->at -= !n->bad; /* a path */
        path(n, true);
    }
    n->depth--;
}

static void print_character(struct kymo_rust_name *n, uint64_t value)
{
    char text[4] = {'\'', (char)value, '\'', '\0'};
    static const char digits[] = "0123456789abcdef";
    if (value >= 0x20 && value < 0x7f && value != '\'' && value != '\\') {
        print_text(n, text);
        return;
    }
    print_text(n, "'\\u{");
    int shift = 60;
    while (shift > 0 && !(value >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        print_bytes(n, &digits[value >> shift & 15], 1);
    print_text(n, "}'");
}

/* Numbers, booleans and characters; anything else leaves the name mangled. */
static void constant(struct kymo_rust_name *n)
{
    if (!enter_level(n))
        return;
    char c = next_char(n);
    if (c == 'B') {
        size_t after = go_back(n);
        constant(n);
        n->at = after;
    } else if (c == 'p') {
        print_text(n, "_");
    } else if (c && strchr("bcahijlmnostxy", c)) {
        bool negative = eat(n, 'n');
        uint64_t value = 0;
        const size_t start = n->at;
        for (char digit = next_char(n); digit != '_' && !n->bad; digit = next_char(n)) {
            bool letter = digit >= 'a' && digit <= 'f';
            if (!letter && !(digit >= '0' && digit <= '9'))
                n->bad = true;
            value = value << 4 | (uint64_t)(letter ? digit - 'a' + 10 : digit - '0');
        }
        if (n->at - start > 17)
            n->bad = true; /* beyond 64 bits */
        print_text(n, negative ? "-" : "");
        if (c == 'b')
            print_text(n, value ? "true" : "false");
        else if (c == 'c')
            print_character(n, value);
        else
            print_number(n, value);
    } else {
        n->bad = true;
    }
    n->depth--;
}

int kymo__demangle_rust(const char *name, size_t len, char **text)
{
    *text = NULL;
    if (len < 4 || name[0] != '_' || name[1] != 'R' || name[2] < 'A' || name[2] > 'Z')
        return 0;
    /* A suffix that the compiler adds for a copy starts with a dot. */
    const char *dot = memchr(name, '.', len);
    struct kymo_rust_name n = {.text = name + 2, .len = (dot ? (size_t)(dot - name) : len) - 2};
    path(&n, false);
    if (!n.bad && n.at < n.len) {
        n.silent = true;
        path(&n, false); /* the crate that made this instance */
    }
    int rc = n.no_memory ? -ENOMEM : 0;
    if (!n.bad && n.at == n.len && n.out.len) {
        *text = kymo__alloc_text((const char *)n.out.bytes, n.out.len);
        rc = *text ? 0 : -ENOMEM;
    }
    kymo__buffer_fini(&n.out);
    return rc;
}
