/* walk_library.c — built twice, with frames of different sizes: code at one address then has one
   rule in one of them and another in the other. */
struct trip;
void walk_library_call(struct trip *trip, void (*call)(struct trip *trip));

__attribute__((noinline)) static void inner(struct trip *trip, void (*call)(struct trip *trip))
{
    volatile char frame[WALK_FRAME];
    frame[0] = 1;
    call(trip);
    frame[1] = frame[0];
}

void walk_library_call(struct trip *trip, void (*call)(struct trip *trip))
{
    volatile char frame[WALK_FRAME / 2];
    frame[0] = 1;
    inner(trip, call);
    frame[1] = frame[0];
}
