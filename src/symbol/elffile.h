/* elffile.h — the sections of an ELF file: 64 bits, little-endian, any machine.

   The file is mapped. Every offset is checked before use, so the file may be truncated or contain
   anything; only a file truncated while it is being read cannot be handled. */
#ifndef KYMO_ELFFILE_H
#define KYMO_ELFFILE_H

#include "bytes.h"

enum {
    KYMO__INFLATED_MOST = 24, /* compressed sections of a file that are read */
    KYMO__BUILD_ID_MOST = 64,
};

struct kymo_elf {
    struct kymo_view image;
    bool mapped;
    char *path;               /* the path it was opened by, or NULL */
    uint64_t device, inode;   /* of a mapped file */
    struct kymo_view headers; /* of the sections, 64 bytes each */
    struct kymo_view names;   /* of the sections */
    struct kymo_inflated {
        uint32_t section;
        uint8_t *bytes;
        size_t len;
    } inflated[KYMO__INFLATED_MOST];
    unsigned inflated_count;
    uint8_t build_id[KYMO__BUILD_ID_MOST];
    uint32_t build_id_bytes; /* 0: it has none */
};

struct kymo_section {
    uint32_t index, type, link;
    uint64_t flags, address, size;
};

/* Map the file at PATH, or the file open as FD, which stays the caller's. Returns 0 or a negative
   errno: -ENOEXEC if it is not an ELF file, including directories and pipes. */
int kymo__elf_open(struct kymo_elf *elf, const char *path);
int kymo__elf_open_fd(struct kymo_elf *elf, int fd);

/* Read IMAGE, which must outlive ELF. */
int kymo__elf_init(struct kymo_elf *elf, struct kymo_view image);
void kymo__elf_fini(struct kymo_elf *elf);

/* How many sections there are, and section INDEX of them. */
uint32_t kymo__elf_sections(const struct kymo_elf *elf);
bool kymo__elf_section(const struct kymo_elf *elf, uint32_t index, struct kymo_section *section);

/* The content of section INDEX, inflated if compressed; empty if there is none or it cannot be
   read. Lent until kymo__elf_fini. */
struct kymo_view kymo__elf_content(struct kymo_elf *elf, uint32_t index);

/* The index of the section called NAME, or 0. A name that begins with .debug_ is also found as
   .zdebug_, which older tools wrote for compressed sections. */
uint32_t kymo__elf_named(const struct kymo_elf *elf, const char *name);
struct kymo_view kymo__elf_content_named(struct kymo_elf *elf, const char *name);

#endif
