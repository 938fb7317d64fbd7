/* ehplace.c — see ehplace.h. */
#include "ehplace.h"

enum { DEPTH = 8, LAST_REGISTER = 31 };

#if defined(__x86_64__)
enum { PROGRAM_COUNTER = 16 };
#else
enum { PROGRAM_COUNTER = -1 };
#endif

static struct kymo_eh_place number(uint64_t value)
{
    return (struct kymo_eh_place){.kind = KYMO__PLACE_NUMBER, .offset = (int64_t)value};
}

static const struct kymo_eh_place unknown = {.kind = KYMO__PLACE_UNKNOWN};

/* A + N, whatever A is. */
static struct kymo_eh_place plus(struct kymo_eh_place a, int64_t n)
{
    int64_t *sum = a.kind == KYMO__PLACE_WORD ? &a.add : &a.offset;
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)n);
    return a;
}

static struct kymo_eh_place compute(uint8_t op, struct kymo_eh_place a, struct kymo_eh_place b)
{
    if (op == 0x22 && a.kind == KYMO__PLACE_NUMBER) /* plus */
        return plus(b, a.offset);
    if (b.kind != KYMO__PLACE_NUMBER)
        return unknown;
    if (op == 0x22)
        return plus(a, b.offset);
    if (op == 0x1c) /* minus */
        return plus(a, (int64_t)(0 - (uint64_t)b.offset));
    if (a.kind != KYMO__PLACE_NUMBER)
        return unknown;
    int64_t x = a.offset, y = b.offset;
    switch (op) {
    case 0x1a:
        return number((uint64_t)(x & y));
    case 0x21:
        return number((uint64_t)(x | y));
    case 0x24:
        return number((uint64_t)y < 64 ? (uint64_t)x << y : 0);
    case 0x25:
        return number((uint64_t)y < 64 ? (uint64_t)x >> y : 0);
    case 0x29:
        return number(x == y);
    case 0x2a:
        return number(x >= y);
    case 0x2b:
        return number(x > y);
    case 0x2c:
        return number(x <= y);
    case 0x2d:
        return number(x < y);
    case 0x2e:
        return number(x != y);
    default:
        return unknown;
    }
}

/* What OP, which takes nothing from the stack, puts there. */
static struct kymo_eh_place operand(uint8_t op, struct kymo_bytes *in, uint64_t pc)
{
    if (op >= 0x30 && op <= 0x4f) /* lit0 .. lit31 */
        return number(op - 0x30u);
    if (op >= 0x70 && op <= 0x8f) { /* breg0 .. breg31 */
        int64_t offset = kymo__bytes_sleb(in);
        if (op - 0x70 == PROGRAM_COUNTER)
            return number(pc + (uint64_t)offset);
        return (struct kymo_eh_place){
            .kind = KYMO__PLACE_REGISTER, .reg = (uint8_t)(op - 0x70), .offset = offset};
    }
    if (op >= 0x08 && op <= 0x0f) { /* const1u, const1s, const2u, ... const8s */
        unsigned size = 1u << (op - 0x08) / 2;
        return number(op & 1 ? (uint64_t)kymo__bytes_signed(in, size)
                             : kymo__bytes_number(in, size));
    }
    if (op == 0x10)
        return number(kymo__bytes_uleb(in));
    if (op == 0x11)
        return number((uint64_t)kymo__bytes_sleb(in));
    return unknown;
}

/* What becomes of A, the top of the stack, by OP; false when OP takes more than that. */
static bool change_top(struct kymo_eh_place *a, uint8_t op, struct kymo_bytes *in)
{
    if (op == 0x23) { /* plus_uconst */
        *a = plus(*a, (int64_t)kymo__bytes_uleb(in));
    } else if (op == 0x06) { /* deref */
        if (a->kind != KYMO__PLACE_REGISTER)
            *a = unknown;
        a->kind = a->kind ? KYMO__PLACE_WORD : KYMO__PLACE_UNKNOWN;
    } else {
        return false;
    }
    return true;
}

struct kymo_eh_place kymo__place_of(struct kymo_bytes in, uint64_t pc)
{
    struct kymo_eh_place stack[DEPTH];
    int depth = 0;
    while (in.at < in.end && !in.bad) {
        uint8_t op = kymo__bytes_u8(&in);
        if (op == 0x96) /* nop */
            continue;
        if (depth && change_top(&stack[depth - 1], op, &in))
            continue;
        if (op >= 0x1a && op <= 0x2e) {
            if (depth < 2)
                return unknown;
            depth--;
            stack[depth - 1] = compute(op, stack[depth - 1], stack[depth]);
        } else {
            if (depth == DEPTH)
                return unknown;
            stack[depth++] = operand(op, &in, pc);
        }
        if (stack[depth - 1].kind == KYMO__PLACE_UNKNOWN)
            return unknown;
    }
    return in.bad || depth != 1 ? unknown : stack[0];
}
