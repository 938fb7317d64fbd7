/* elffile.c — see elffile.h. */
#include "elffile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "alloc.h"

#define COMPRESSED_ZLIB 1u
#define COMPRESSED_ZSTD 2u /* newer than some <elf.h> */

/* No section is inflated beyond this, whatever its header says. */
#define INFLATED_LIMIT (UINT64_C(4) << 30)

static struct kymo_view part_of(struct kymo_view whole, uint64_t offset, uint64_t len)
{
    if (offset > whole.len || len > whole.len - offset)
        return (struct kymo_view){0};
    return (struct kymo_view){whole.at + offset, (size_t)len};
}

/* ---- sections ---- */

static bool header_of(const struct kymo_elf *elf, uint32_t index, Elf64_Shdr *header)
{
    if (index >= kymo__elf_sections(elf))
        return false;
    memcpy(header, elf->headers.at + (size_t)index * sizeof(*header), sizeof(*header));
    return true;
}

uint32_t kymo__elf_sections(const struct kymo_elf *elf)
{
    return (uint32_t)(elf->headers.len / sizeof(Elf64_Shdr));
}

bool kymo__elf_section(const struct kymo_elf *elf, uint32_t index, struct kymo_section *section)
{
    Elf64_Shdr header;
    if (!header_of(elf, index, &header))
        return false;
    *section = (struct kymo_section){
        .index = index,
        .type = header.sh_type,
        .link = header.sh_link,
        .flags = header.sh_flags,
        .address = header.sh_addr,
        .size = header.sh_size,
    };
    return true;
}

static const char *name_of(const struct kymo_elf *elf, const Elf64_Shdr *header)
{
    return kymo__view_text(elf->names, header->sh_name);
}

uint32_t kymo__elf_named(const struct kymo_elf *elf, const char *name)
{
    bool debug = strncmp(name, ".debug_", 7) == 0;
    Elf64_Shdr header;
    for (uint32_t i = 1; header_of(elf, i, &header); i++) {
        const char *found = name_of(elf, &header);
        if (!found || header.sh_type == SHT_NOBITS)
            continue;
        if (strcmp(found, name) == 0 ||
            (debug && strncmp(found, ".zdebug_", 8) == 0 && strcmp(found + 8, name + 7) == 0))
            return i;
    }
    return 0;
}

struct kymo_view kymo__elf_content_named(struct kymo_elf *elf, const char *name)
{
    uint32_t index = kymo__elf_named(elf, name);
    return index ? kymo__elf_content(elf, index) : (struct kymo_view){0};
}

/* ---- compressed sections ---- */

/* Deflate cannot expand more than this per byte: a greater size is a lie. */
static bool zlib_can(uint64_t size, size_t from)
{
    return size / 1040 <= from + 64;
}

static bool inflate_zlib(struct kymo_view from, uint8_t *to, size_t size)
{
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK)
        return false;
    size_t in = from.len, out = size;
    const uint8_t *next = from.at;
    int rc = Z_OK;
    /* zlib lengths are 32 bits, so large sections are inflated in pieces. */
    while (rc == Z_OK) {
        uInt give = in > (1u << 30) ? 1u << 30 : (uInt)in;
        uInt room = out > (1u << 30) ? 1u << 30 : (uInt)out;
        z.next_in = (Bytef *)(uintptr_t)next;
        z.avail_in = give;
        z.next_out = to + (size - out);
        z.avail_out = room;
        rc = inflate(&z, Z_NO_FLUSH);
        next += give - z.avail_in;
        in -= give - z.avail_in;
        out -= room - z.avail_out;
        if (give == z.avail_in && room == z.avail_out && rc == Z_OK)
            break;
    }
    inflateEnd(&z);
    return rc == Z_STREAM_END && out == 0;
}

/* FROM begins with a compression header, or for .zdebug with "ZLIB" and a big-endian size. */
static uint8_t *inflate_section(struct kymo_view from, bool old, size_t *size)
{
    uint64_t wanted = 0;
    uint32_t how = COMPRESSED_ZLIB;
    if (old) {
        if (from.len < 12 || memcmp(from.at, "ZLIB", 4) != 0)
            return NULL;
        for (int i = 4; i < 12; i++)
            wanted = wanted << 8 | from.at[i];
        from = part_of(from, 12, from.len - 12);
    } else {
        Elf64_Chdr header;
        if (from.len < sizeof(header))
            return NULL;
        memcpy(&header, from.at, sizeof(header));
        how = header.ch_type;
        wanted = header.ch_size;
        from = part_of(from, sizeof(header), from.len - sizeof(header));
    }
    if (wanted == 0 || wanted > INFLATED_LIMIT)
        return NULL;
    if (how == COMPRESSED_ZLIB
            ? !zlib_can(wanted, from.len)
            : how != COMPRESSED_ZSTD || ZSTD_getFrameContentSize(from.at, from.len) != wanted)
        return NULL;
    uint8_t *to = kymo__alloc((size_t)wanted);
    if (!to)
        return NULL;
    bool done = how == COMPRESSED_ZLIB
                    ? inflate_zlib(from, to, (size_t)wanted)
                    : ZSTD_decompress(to, (size_t)wanted, from.at, from.len) == (size_t)wanted;
    if (!done) {
        kymo__free(to);
        return NULL;
    }
    *size = (size_t)wanted;
    return to;
}

struct kymo_view kymo__elf_content(struct kymo_elf *elf, uint32_t index)
{
    const struct kymo_view none = {0};
    Elf64_Shdr header;
    if (!header_of(elf, index, &header) || header.sh_type == SHT_NOBITS)
        return none;
    struct kymo_view raw = part_of(elf->image, header.sh_offset, header.sh_size);
    const char *name = name_of(elf, &header);
    bool old = name && strncmp(name, ".zdebug_", 8) == 0;
    if (!old && !(header.sh_flags & SHF_COMPRESSED))
        return raw;
    for (unsigned i = 0; i < elf->inflated_count; i++)
        if (elf->inflated[i].section == index)
            return (struct kymo_view){elf->inflated[i].bytes, elf->inflated[i].len};
    if (elf->inflated_count == KYMO__INFLATED_MOST)
        return none;
    struct kymo_inflated *made = &elf->inflated[elf->inflated_count++];
    *made = (struct kymo_inflated){.section = index}; /* also remembers that it failed */
    made->bytes = inflate_section(raw, old, &made->len);
    return made->bytes ? (struct kymo_view){made->bytes, made->len} : none;
}

/* ---- build id ---- */

static void read_notes(struct kymo_elf *elf, struct kymo_view notes)
{
    struct kymo_bytes at = kymo__bytes(notes, 0);
    while (kymo__bytes_left(&at) >= 12 && !elf->build_id_bytes) {
        uint32_t name_len = kymo__bytes_u32(&at), len = kymo__bytes_u32(&at);
        uint32_t type = kymo__bytes_u32(&at);
        struct kymo_bytes name = at;
        kymo__bytes_skip(&at, ((uint64_t)name_len + 3) & ~UINT64_C(3));
        struct kymo_bytes id = at;
        kymo__bytes_skip(&at, len);
        if (at.bad)
            return;
        if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name.at, "GNU", 4) == 0 && len > 0 &&
            len <= KYMO__BUILD_ID_MOST) {
            memcpy(elf->build_id, id.at, len);
            elf->build_id_bytes = len;
        }
        kymo__bytes_skip(&at, -len & 3u);
    }
}

/* From segments, which exist even without section headers, then from sections, whose offsets are
   the valid ones in a file with only debug information. */
static void read_build_id(struct kymo_elf *elf, const Elf64_Ehdr *head)
{
    Elf64_Shdr header;
    for (uint32_t i = 1; !elf->build_id_bytes && header_of(elf, i, &header); i++)
        if (header.sh_type == SHT_NOTE)
            read_notes(elf, part_of(elf->image, header.sh_offset, header.sh_size));
    if (head->e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (uint32_t i = 0; !elf->build_id_bytes && i < head->e_phnum; i++) {
        Elf64_Phdr segment;
        struct kymo_view at =
            part_of(elf->image, head->e_phoff, ((uint64_t)i + 1) * sizeof(segment));
        if (!at.len)
            return;
        memcpy(&segment, at.at + (size_t)i * sizeof(segment), sizeof(segment));
        if (segment.p_type == PT_NOTE)
            read_notes(elf, part_of(elf->image, segment.p_offset, segment.p_filesz));
    }
}

/* ---- opening ---- */

int kymo__elf_init(struct kymo_elf *elf, struct kymo_view image)
{
    *elf = (struct kymo_elf){.image = image};
    Elf64_Ehdr head;
    if (image.len < sizeof(head))
        return -ENOEXEC;
    memcpy(&head, image.at, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB)
        return -ENOEXEC;
    uint64_t count = head.e_shnum;
    uint32_t names = head.e_shstrndx;
    if (head.e_shoff && head.e_shentsize == sizeof(Elf64_Shdr)) {
        /* If there are very many sections, their number is in the first one. */
        struct kymo_view first = part_of(image, head.e_shoff, sizeof(Elf64_Shdr));
        Elf64_Shdr header;
        if (first.len) {
            memcpy(&header, first.at, sizeof(header));
            count = count ? count : header.sh_size;
            names = names == SHN_XINDEX ? header.sh_link : names;
            if (count <= image.len / sizeof(header))
                elf->headers = part_of(image, head.e_shoff, count * sizeof(header));
        }
        if (header_of(elf, names, &header) && header.sh_type != SHT_NOBITS)
            elf->names = part_of(image, header.sh_offset, header.sh_size);
    }
    read_build_id(elf, &head);
    return 0;
}

int kymo__elf_open_fd(struct kymo_elf *elf, int fd)
{
    struct stat about;
    *elf = (struct kymo_elf){0};
    if (fstat(fd, &about) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode) || about.st_size < (off_t)sizeof(Elf64_Ehdr))
        return -ENOEXEC;
    size_t len = (size_t)about.st_size;
    void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    int rc = kymo__elf_init(elf, (struct kymo_view){map, len});
    if (rc < 0) {
        munmap(map, len);
        *elf = (struct kymo_elf){0};
        return rc;
    }
    elf->mapped = true;
    elf->device = (uint64_t)about.st_dev;
    elf->inode = (uint64_t)about.st_ino;
    return 0;
}

int kymo__elf_open(struct kymo_elf *elf, const char *path)
{
    struct stat about;
    *elf = (struct kymo_elf){0};
    /* Opening a device may have side effects, and a pipe waits for a writer. */
    if (stat(path, &about) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode))
        return -ENOEXEC;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int rc = kymo__elf_open_fd(elf, fd);
    close(fd);
    if (rc == 0 && !(elf->path = kymo__alloc_text(path, strlen(path)))) {
        kymo__elf_fini(elf);
        rc = -ENOMEM;
    }
    return rc;
}

void kymo__elf_fini(struct kymo_elf *elf)
{
    for (unsigned i = 0; i < elf->inflated_count; i++)
        kymo__free(elf->inflated[i].bytes);
    kymo__free(elf->path);
    if (elf->mapped)
        munmap((void *)(uintptr_t)elf->image.at, elf->image.len);
    *elf = (struct kymo_elf){0};
}
