/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Go's own table of its functions, .gopclntab: the run-time system walks stacks by it,
 * so no program is without it, and for each instruction it tells how far the
 * stack pointer is from where it was when the function was entered. The few functions
 * that move to another stack, or have no caller, are known by name. Sources:
 * Go's src/runtime/symtab.go (moduledata, funcInfo, pcvalue), asm_amd64.s, and
 * cmd/link/internal/ld/pcln.go, of Go 1.17 to 1.25.
 */
#include "config.h"

#include "src/base/deadline.h"
#include "src/base/reader.h"
#include "src/base/util.h"
#include "unwind/synth.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

#define STEPS_MAX	(1u << 26) /* a function may share its rows with others: a bound on all */
#define FUNCS_MAX	(8u << 20)
#define NAME_BYTES_MAX	32
#define FRAME_BYTES_MAX (1 << 30)
#define FLAG_SPWRITE	2
#define SWITCH_BYTES	3

enum {
	MAGIC_116 = 0xfffffffa,
	MAGIC_118 = 0xfffffff0,
	MAGIC_120 = 0xfffffff1,
};

struct go_table {
	const struct cfi_input *input;
	struct cfi_frames *frames;
	const uint8_t *data;
	size_t bytes;
	uint32_t magic;
	uint64_t text, nr_funcs, names_at, rows_at, funcs_at;
	uint32_t steps_left;
	uint8_t flags; /* of all functions */
};

enum func_kind {
	GO_PLAIN,
	GO_ROOT,       /* it has no caller */
	GO_ROOT_BELOW, /* it never returns from the stack that it moves to */
	GO_SWITCH,     /* its caller is on the stack that it leaves */
	GO_SIGRETURN,  /* a signal frame */
	GO_CALLBACK,   /* it moves to a stack that looks as if it had been called there */
};

/* One function: its code [START, END) as file offsets, TEXT its bytes or NULL. Places that it does not have are END. */
struct go_func {
	uint64_t start, end;
	const uint8_t *text;
	uint32_t rows; /* in the table of rows; 0: none */
	enum func_kind kind;
	bool writes_sp;	   /* other than by adding and subtracting constants */
	uint64_t saved_at; /* from here on rbp is saved at CFA - 16 */
	uint64_t switched_at,
		back_at; /* it is on another stack from here to the last change of stacks */
	uint64_t kept_at, kept_end; /* a register that calls preserve has the stack pointer here */
	uint8_t kept_reg;
	uint32_t kept_words; /* from there to the return address */
};

static const struct special {
	const char *name;
	enum func_kind kind;
} specials[] = {
	{"_rt0_amd64", GO_ROOT},
	{"_rt0_amd64_linux", GO_ROOT},
	{"gogo", GO_SWITCH},
	{"runtime.asmcgocall", GO_SWITCH},
	{"runtime.cgocallback", GO_CALLBACK},
	{"runtime.clone", GO_ROOT_BELOW},
	/* What the collector's workers do on the scheduler's stack: each worker's first function alone calls it. */
	{"runtime.gcBgMarkWorker.func2", GO_ROOT},
	{"runtime.goexit", GO_ROOT},
	{"runtime.gogo", GO_SWITCH},
	{"runtime.mcall", GO_ROOT_BELOW},
	{"runtime.morestack", GO_SWITCH},
	{"runtime.mstart", GO_ROOT},
	{"runtime.rt0_go", GO_ROOT},
	{"runtime.sigreturn", GO_SIGRETURN},
	{"runtime.sigreturn__sigaction", GO_SIGRETURN},
	{"runtime.systemstack", GO_SWITCH},
};

static struct reader reader_at(const struct go_table *t, uint64_t at)
{
	struct reader r = reader_of(t->data, t->bytes);

	reader_skip(&r, MIN(at, (uint64_t)SIZE_MAX));
	return r;
}

bool go_table_begins(const uint8_t *data, size_t bytes)
{
	static const uint8_t machine[] = {0, 0, 1, 8}; /* instructions of a byte, pointers of 8 */
	struct reader r = reader_of(data, bytes);
	uint32_t magic = reader_u32(&r);
	const uint8_t *rest = reader_bytes(&r, sizeof(machine));

	return rest && memcmp(rest, machine, sizeof(machine)) == 0 &&
	       (magic == MAGIC_116 || magic == MAGIC_118 || magic == MAGIC_120);
}

/* False: it is not of a kind known here. */
static bool read_header(struct go_table *t)
{
	struct reader r = reader_at(t, 0);

	t->magic = reader_u32(&r);
	reader_skip(&r, 4); /* zeros, and the bytes of an instruction and a pointer */
	t->nr_funcs = reader_u64(&r);
	reader_skip(&r, sizeof(uint64_t)); /* files */
	if (t->magic != MAGIC_116)
		t->text = reader_u64(&r);
	t->names_at = reader_u64(&r);
	reader_skip(&r, 2 * sizeof(uint64_t)); /* compilation units, names of files */
	t->rows_at = reader_u64(&r);
	t->funcs_at = reader_u64(&r);
	return !r.bad && go_table_begins(t->data, t->bytes) && t->nr_funcs <= FUNCS_MAX &&
	       (t->magic == MAGIC_116 || t->text != 0) && t->names_at < t->bytes &&
	       t->rows_at < t->bytes && t->funcs_at < t->bytes;
}

/* The address of function I (I == nr_funcs: the end of the last), and where it is described. */
static uint64_t func_at(const struct go_table *t, uint64_t i, uint64_t *ret_info)
{
	bool is_wide = t->magic == MAGIC_116;
	struct reader r = reader_at(t, t->funcs_at + i * (is_wide ? 16 : 8));
	uint64_t at = is_wide ? reader_u64(&r) : t->text + reader_u32(&r);

	*ret_info = t->funcs_at + (is_wide ? reader_u64(&r) : reader_u32(&r));
	return at;
}

static enum func_kind kind_of(const struct go_table *t, uint32_t name)
{
	struct reader r = reader_at(t, t->names_at + name);
	const char *text = (const char *)r.p;
	size_t left = MIN(reader_left(&r), (size_t)NAME_BYTES_MAX);

	if (left == 0 || (text[0] != 'r' && text[0] != 'g' && text[0] != '_') ||
	    strnlen(text, left) == left)
		return GO_PLAIN;
	for (size_t i = 0; i < ARRAY_SIZE(specials); i++)
		if (strcmp(specials[i].name, text) == 0)
			return specials[i].kind;
	return GO_PLAIN;
}

/* Is `mov ..., %rsp` at P, of another register or of memory? */
static bool is_switch(const uint8_t *p)
{
	if (p[1] == 0x89)
		return (p[0] == 0x48 || p[0] == 0x4c) && (p[2] & 0xc7) == 0xc4;
	return p[1] == 0x8b && (p[0] == 0x48 || p[0] == 0x49) && (p[2] & 0x38) == 0x20;
}

/* Where the stack is changed, and a register that C code preserves keeps the way back. */
static void find_switch(struct go_func *f)
{
	static const struct {
		uint8_t keep[SWITCH_BYTES], back[SWITCH_BYTES], reg;
	} kept[] = {{{0x49, 0x89, 0xe4}, {0x4c, 0x89, 0xe4}, X86_R12},
		    {{0x48, 0x89, 0xe3}, {0x48, 0x89, 0xdc}, X86_RBX}};
	const uint8_t *p = f->text;

	for (uint64_t at = f->start; f->end - at >= SWITCH_BYTES; at++, p++) {
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
			if (f->kept_at == f->end && memcmp(p, kept[i].keep, SWITCH_BYTES) == 0) {
				f->kept_at = at + SWITCH_BYTES;
				f->kept_reg = kept[i].reg;
			} else if (f->kept_reg == kept[i].reg &&
				   memcmp(p, kept[i].back, SWITCH_BYTES) == 0) {
				f->kept_end = at + SWITCH_BYTES;
			}
		}
		if (!is_switch(p)) /* `mov mem, %rsp` has a fourth byte */
			continue;
		if (f->switched_at == f->end)
			f->switched_at = at + SWITCH_BYTES;
		else
			f->back_at = at + SWITCH_BYTES;
	}
}

/*
 * From where on is rbp saved at CFA - 16? The first row with a frame (of BYTES)
 * begins at AT, after `push %rbp` or with `mov %rbp, BYTES - 8(%rsp)`.
 */
static uint64_t saved_from(const struct go_func *f, uint64_t at, uint32_t bytes)
{
	const uint8_t *p = f->text + (at - f->start);
	uint32_t off = 0;

	if (bytes == 8 && at > f->start && p[-1] == 0x55)
		return at;
	if (f->end - at >= 5 && memcmp(p, "\x48\x89\x6c\x24", 4) == 0)
		return p[4] == bytes - 8 ? at + 5 : f->end;
	if (f->end - at < 8 || memcmp(p, "\x48\x89\xac\x24", 4) != 0)
		return f->end;
	memcpy(&off, p + 4, sizeof(off));
	return off == bytes - 8 ? at + 8 : f->end;
}

/* What holds at AT, where WORDS are on the stack besides the return address. */
static uint32_t rule_at(const struct go_func *f, uint64_t at, uint32_t words)
{
	bool is_switched = at >= f->switched_at && at < f->back_at;

	if (f->kind == GO_ROOT || (f->kind == GO_ROOT_BELOW && is_switched))
		return SYNTH_ROOT;
	if (f->kind == GO_SWITCH && is_switched)
		return SYNTH_ELSEWHERE;
	if (f->kind == GO_CALLBACK && is_switched)
		return synth_code(SYNTH_GO_CALLBACK, words);
	if (f->writes_sp && f->kind == GO_PLAIN) {
		if (f->kept_end == f->end)
			return SYNTH_GAP;
		if (at >= f->kept_at && at < f->kept_end)
			return synth_code(f->kept_reg == X86_R12 ? SYNTH_KEPT_R12 : SYNTH_KEPT_RBX,
					  f->kept_words);
	}
	return synth_code(at >= f->saved_at && words > 0 ? SYNTH_GO_FRAME : SYNTH_GO, words);
}

/* [START, END) of F has BYTES on the stack besides the return address. */
static int put_rows(struct go_table *t, struct go_func *f, uint64_t start, uint64_t end,
		    uint32_t bytes)
{
	int r = 0;

	if (bytes > 0 && f->text && f->saved_at == f->end)
		f->saved_at = saved_from(f, start, bytes);
	if (f->kept_at >= start && f->kept_at < end)
		f->kept_words = bytes / 8;
	for (uint64_t at = start, next; r == 0 && at < end; at = next) {
		const uint64_t edges[] = {f->saved_at, f->switched_at, f->back_at, f->kept_at,
					  f->kept_end};

		next = end;
		for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
			if (edges[i] > at)
				next = MIN(next, edges[i]);
		r = synth_add(t->frames, at, next, f->start, rule_at(f, at, bytes / 8));
	}
	return r;
}

/* The rows of F: differences of its stack's size and of the address, in turn. */
static int read_rows(struct go_table *t, struct go_func *f)
{
	struct reader rows = reader_at(t, t->rows_at + f->rows);
	uint64_t at = f->start;
	int64_t bytes = -1;
	int r = 0;

	while (r == 0 && at < f->end && t->steps_left > 0) {
		uint64_t step = reader_uleb(&rows), end;

		t->steps_left--;
		if (step == 0 && at > f->start)
			break;
		bytes += (int64_t)(step >> 1) ^ -(int64_t)(step & 1);
		step = reader_uleb(&rows);
		end = step < f->end - at ? at + step : f->end;
		if (rows.bad || step == 0)
			break;
		if (bytes >= 0 && bytes < FRAME_BYTES_MAX && bytes % 8 == 0)
			r = put_rows(t, f, at, end, (uint32_t)bytes);
		at = end;
	}
	return r;
}

static int add_func(struct go_table *t, struct go_func *f)
{
	if (f->kind == GO_SIGRETURN) /* a return to its first byte is looked up one lower */
		return synth_add(t->frames, f->start - 1, f->end, f->start, SYNTH_SIGNAL);
	if (f->text && (f->kind != GO_PLAIN || f->writes_sp))
		find_switch(f);
	return f->rows ? read_rows(t, f) : 0;
}

/* Function I begins at VADDR and is described at INFO; the next one begins at NEXT. */
static int read_func(struct go_table *t, uint64_t vaddr, uint64_t next, uint64_t info)
{
	const struct cfi_segment *seg = cfi_segment_of(t->input, vaddr);
	struct reader r = reader_at(t, info);
	struct go_func f = {0};
	uint32_t name;
	uint8_t flags;

	reader_skip(&r, t->magic == MAGIC_116 ? 8 : 4);
	name = reader_u32(&r);
	reader_skip(&r, 2 * sizeof(uint32_t)); /* args, deferreturn */
	f.rows = reader_u32(&r);
	reader_skip(&r, (t->magic == MAGIC_120 ? 5 : 4) * sizeof(uint32_t) + 1);
	flags = reader_u8(&r);
	if (r.bad || !seg || next <= vaddr || vaddr == seg->vaddr)
		return 0;
	f.start = vaddr - seg->vaddr + seg->file_off;
	f.end = f.start + MIN(next - vaddr, seg->bytes - (vaddr - seg->vaddr));
	f.text = seg->text ? seg->text + (vaddr - seg->vaddr) : NULL;
	f.saved_at = f.switched_at = f.back_at = f.kept_at = f.kept_end = f.end;
	f.kind = kind_of(t, name);
	f.writes_sp = flags & FLAG_SPWRITE;
	t->flags |= flags;
	return add_func(t, &f);
}

int go_table_find(const struct cfi_input *input, struct cfi_frames *frames)
{
	struct go_table t = {.input = input,
			     .frames = frames,
			     .data = input->go_table.data,
			     .bytes = input->go_table.bytes,
			     .steps_left = STEPS_MAX};
	uint64_t vaddr, next, info, next_info;
	int r = 0;

	if (!t.data || input->machine != TABLE_MACHINE_X86_64 || input->swap || !read_header(&t))
		return 0;
	vaddr = func_at(&t, 0, &info);
	for (uint64_t i = 0; r == 0 && i < t.nr_funcs && t.steps_left > 0; i++) {
		next = func_at(&t, i + 1, &next_info);
		r = read_func(&t, vaddr, next, info);
		vaddr = next;
		info = next_info;
		if (deadline_is_over())
			r = -ETIME;
	}
	/* Go 1.16 does not tell which functions move to another stack. */
	if (t.flags == 0)
		frames->nr_fdes = 0;
	return r == -E2BIG ? 0 : r;
}
