// Exceptions change the stack in ways that no call does; the next walk must not mind.
#include <cstdio>
#include <stdexcept>

extern "C" int walk_agrees(void);

namespace
{
int looked, disagreed;

void look()
{
    looked++;
    disagreed += !walk_agrees();
}

struct guard {
    ~guard() { look(); } // while the exception is on its way
};

__attribute__((noinline)) int dive(int depth, int catch_at)
{
    guard here;
    volatile char frame[64];
    frame[0] = static_cast<char>(depth);
    look();
    if (depth == 0)
        throw std::runtime_error("bottom");
    if (depth % 7 == catch_at) {
        try {
            return dive(depth - 1, catch_at) + frame[0];
        } catch (const std::exception &) {
            look();
            if (depth % 2)
                throw;
        }
        look();
        return frame[0];
    }
    int below = dive(depth - 1, catch_at);
    look();
    return below + frame[0];
}
} // namespace

int main()
{
    std::puts("1..1");
    for (int depth = 0; depth < 25; depth++)
        for (int catch_at = 0; catch_at < 7; catch_at++) {
            try {
                dive(depth, catch_at);
            } catch (const std::exception &) {
                look();
            }
            look();
        }
    std::printf("%sok 1 - exceptions_between_walks_do_not_matter # %d walks\n",
                disagreed ? "not " : "", looked);
    return disagreed != 0;
}
