/* ELF headers, notes and build ids, read from bytes. */
#include "image/elf64.h"

#include "base/mem.h"
#include "support/mkelf.h"
#include "support/test.h"

#include <string.h>

static Elf64_Ehdr good_header(void)
{
	return (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
}

static struct elf_bytes bytes_of(const void *p, size_t n)
{
	return (struct elf_bytes){p, n};
}

static void test_header(void **state)
{
	static const struct {
		u64 size;
		unsigned at;
		u8 value;
		enum err_code code;
		const char *message;
	} cases[] = {
		{64, EI_MAG0, 'E', ERR_FORMAT, "not an ELF file"},
		{64, EI_MAG3, 'f', ERR_FORMAT, "not an ELF file"},
		{0, EI_MAG0, ELFMAG0, ERR_FORMAT, "not an ELF file"},
		{15, EI_MAG0, ELFMAG0, ERR_FORMAT, "not an ELF file"},
		{16, EI_MAG0, ELFMAG0, ERR_FORMAT, "cut inside its ELF header"},
		{63, EI_MAG0, ELFMAG0, ERR_FORMAT, "cut inside its ELF header"},
		{64, EI_CLASS, ELFCLASS32, ERR_UNSUPPORTED, "a 32-bit ELF file"},
		{64, EI_CLASS, 0, ERR_UNSUPPORTED, "a 32-bit ELF file"},
		{64, EI_DATA, ELFDATA2MSB, ERR_UNSUPPORTED, "a big-endian ELF file"},
		{52, EI_CLASS, ELFCLASS32, ERR_UNSUPPORTED, "a 32-bit ELF file"},
	};
	Elf64_Ehdr eh = good_header(), got;

	(void)state;
	assert_ok(elf_header(bytes_of(&eh, sizeof(eh)), &got));
	assert_memory_equal(&eh, &got, sizeof(eh));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		eh = good_header();
		eh.e_ident[cases[i].at] = cases[i].value;
		assert_err(elf_header(bytes_of(&eh, cases[i].size), &got), cases[i].code,
			   cases[i].message);
	}
}

struct two_headers {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
};

static void test_phdr(void **state)
{
	struct two_headers f = {.eh = good_header(),
				.ph = {{.p_vaddr = 0x1000}, {.p_vaddr = 0x2000}}};
	struct elf_bytes e = bytes_of(&f, sizeof(f));
	Elf64_Phdr ph;

	(void)state;
	assert_int_equal(elf_phdr_count(e, &f.eh), 2);
	assert_true(elf_phdr(e, &f.eh, 1, &ph));
	assert_int_equal(ph.p_vaddr, 0x2000);
	assert_false(elf_phdr(e, &f.eh, 2, &ph)); /* behind the bytes */
	assert_false(elf_phdr(e, &f.eh, UINT64_MAX, &ph));
	assert_false(elf_phdr(e, &f.eh, UINT64_MAX / sizeof(ph), &ph));
	e.size--;
	assert_true(elf_phdr(e, &f.eh, 0, &ph));
	assert_false(elf_phdr(e, &f.eh, 1, &ph));
	f.eh.e_phoff = UINT64_MAX - 10;
	assert_false(elf_phdr(e, &f.eh, 0, &ph));
	f.eh.e_phoff = sizeof(f.eh);
	f.eh.e_phentsize = 32;
	assert_false(elf_phdr(e, &f.eh, 0, &ph));
}

static void test_extended_numbering(void **state)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh;
	} f = {.eh = good_header(), .sh = {.sh_info = 123456}};
	struct elf_bytes e = bytes_of(&f, sizeof(f));

	(void)state;
	f.eh.e_phnum = PN_XNUM;
	f.eh.e_shoff = sizeof(f.eh);
	assert_int_equal(elf_phdr_count(e, &f.eh), 123456);
	e.size--; /* the section header is cut off: at least so many */
	assert_int_equal(elf_phdr_count(e, &f.eh), PN_XNUM);
	f.eh.e_shoff = UINT64_MAX - 8;
	assert_int_equal(elf_phdr_count(e, &f.eh), PN_XNUM);
}

/* Notes as bytes: name size, description size, type, then both, padded to 4. */
static void test_notes(void **state)
{
	static const u8 bytes[] = "\x05\0\0\0\x03\0\0\0\x01\0\0\0CORE\0\0\0\0abc\0"
				  "\0\0\0\0\x04\0\0\0\x02\0\0\0wxyz"
				  "\x04\0\0\0\0\0\0\0\x03\0\0\0LONG";
	struct elf_bytes e = bytes_of(bytes, sizeof(bytes) - 1);
	struct elf_note note;
	u64 pos = 0;

	(void)state;
	assert_true(elf_note_next(e, &pos, e.size, &note));
	assert_int_equal(pos, 24);
	assert_true(elf_note_is(&note, "CORE", 1));
	assert_false(elf_note_is(&note, "CORE", 2));
	assert_false(elf_note_is(&note, "COR", 1));
	assert_false(elf_note_is(&note, "CORES", 1));
	assert_int_equal(note.desc_len, 3);
	assert_memory_equal(note.desc, "abc", 3);
	assert_true(elf_note_next(e, &pos, e.size, &note));
	assert_true(elf_note_is(&note, "", 2));
	assert_int_equal(note.name_len, 0);
	assert_memory_equal(note.desc, "wxyz", 4);
	assert_true(elf_note_next(e, &pos, e.size, &note));
	assert_true(elf_note_is(&note, "LONG", 3)); /* no NUL behind the name */
	assert_int_equal(note.desc_len, 0);
	assert_int_equal(pos, e.size);
	assert_false(elf_note_next(e, &pos, e.size, &note));
	assert_int_equal(pos, e.size);
}

/* A note that does not fit leaves the position where it is. */
static void test_damaged_notes(void **state)
{
	static const struct {
		Elf64_Nhdr nh;
		u64 bytes, end; /* there are, and of the segment */
	} cases[] = {
		{{4, 8, 1}, 23, 24},          /* the description is cut */
		{{4, 8, 1}, 24, 23},          /* it ends behind the segment */
		{{UINT32_MAX, 0, 1}, 24, 24}, /* sizes that would wrap 32 bits */
		{{4, UINT32_MAX, 1}, 24, 24}, {{UINT32_MAX, UINT32_MAX, 1}, 24, 24},
		{{16, 0, 1}, 24, 24},         {{0, 0, 0}, 11, 24},
		{{0, 0, 0}, 24, 11},
	};
	u8 bytes[64] = {0};
	struct elf_note note;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		u64 pos = 0;

		memcpy(bytes, &cases[i].nh, sizeof(cases[i].nh));
		assert_false(
			elf_note_next(bytes_of(bytes, cases[i].bytes), &pos, cases[i].end, &note));
		assert_int_equal(pos, 0);
	}
	for (u64 pos = 60; pos < 70; pos++) {
		u64 at = pos;

		assert_false(elf_note_next(bytes_of(bytes, sizeof(bytes)), &at, 80, &note));
		assert_int_equal(at, pos);
	}
}

/* Every length and every start: nothing outside the bytes is read (the asan build tells). */
static void test_notes_stay_inside(void **state)
{
	u64 seed = 3;

	(void)state;
	for (size_t n = 0; n < 80; n++)
		for (int round = 0; round < 40; round++) {
			u8 *bytes = xcalloc(n, 1);
			struct elf_note note;
			u64 pos = 0, sum = 0;

			for (size_t i = 0; i < n; i++)
				bytes[i] = i % 4 ? 0 : (u8)(test_random(&seed) % 24);
			while (elf_note_next(bytes_of(bytes, n), &pos, n, &note)) {
				for (u64 i = 0; i < note.desc_len; i++)
					sum += note.desc[i];
				sum += elf_note_is(&note, "CORE", 1);
			}
			assert_true(sum < 1u << 20);
			free(bytes);
		}
}

static void read_ids(const struct mkelf *e, size_t n, struct elf_ids *ids)
{
	u8 page[4096];

	mkelf_bytes(e, 0, page, sizeof(page));
	memset(ids, 'x', sizeof(*ids));
	elf_build_ids(bytes_of(page, n), ids);
}

static void test_build_ids(void **state)
{
	static const u8 gnu[20] = {0x00, 0x0a, 0xff, 0x7f};
	char long_id[ELF_ID_MAX + 1];
	struct mkelf e = {.phdrs = {mkelf_load(0x400000, 0, 4096, 4096, PF_R)}};
	struct elf_ids ids;

	(void)state;
	read_ids(&e, 4096, &ids);
	assert_string_equal(ids.go, "");
	assert_string_equal(ids.gnu, "");
	e.go_id = "abc/def/ghi";
	read_ids(&e, 4096, &ids);
	assert_string_equal(ids.go, "abc/def/ghi");
	assert_string_equal(ids.gnu, "");
	e.gnu_id = gnu;
	e.gnu_id_bytes = sizeof(gnu);
	read_ids(&e, 4096, &ids);
	assert_string_equal(ids.go, "abc/def/ghi");
	assert_string_equal(ids.gnu, "000aff7f00000000000000000000000000000000");
	read_ids(&e, 2000, &ids); /* the notes are not among the bytes */
	assert_string_equal(ids.go, "");
	assert_string_equal(ids.gnu, "");
	read_ids(&e, 10, &ids);
	assert_string_equal(ids.go, "");

	memset(long_id, 'a', sizeof(long_id));
	long_id[ELF_ID_MAX] = '\0';
	e.go_id = long_id; /* is no id */
	read_ids(&e, 4096, &ids);
	assert_string_equal(ids.go, "");
	assert_int_equal(strlen(ids.gnu), 40);
	long_id[ELF_ID_MAX - 1] = '\0';
	read_ids(&e, 4096, &ids);
	assert_string_equal(ids.go, long_id);
}

static void test_long_gnu_id(void **state)
{
	u8 id[ELF_ID_MAX / 2] = {1};
	struct mkelf e = {.gnu_id = id};
	struct elf_ids ids;

	(void)state;
	e.gnu_id_bytes = sizeof(id);
	read_ids(&e, 4096, &ids);
	assert_string_equal(ids.gnu, "");
	e.gnu_id_bytes = sizeof(id) - 1;
	read_ids(&e, 4096, &ids);
	assert_int_equal(strlen(ids.gnu), ELF_ID_MAX - 2);
}

TEST_MAIN(TEST(test_header), TEST(test_phdr), TEST(test_extended_numbering), TEST(test_notes),
	  TEST(test_damaged_notes), TEST(test_notes_stay_inside), TEST(test_build_ids),
	  TEST(test_long_gnu_id))
