/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From (snapshot, query) to rows: one walk in depth over items, the same for
 * all kinds of view; only where an item's children come from differs.
 */
#include "config.h"

#include "src/view/view.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/view/baseline.h"
#include "src/view/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOT_SHARE	    20 /* a tree row is open by default from 1/20 of the window on */
#define GUIDES_MAX	    64
#define FOLD_EXCEPTIONS_MAX 65536 /* more than a person opens by hand */

static const char *const sort_names[] = {"self", "total", "name", "object"};
_Static_assert(ARRAY_SIZE(sort_names) == VIEW_SORT_CHANGE, "all orders that need nothing");
static const char *const names_names[] = {"short", "full", "mangled", "merged"};
_Static_assert(ARRAY_SIZE(names_names) == VIEW_NAMES_COUNT, "all forms");

const char *view_name(int kind)
{
	return kind < VIEW_COUNT ? view_specs[kind].name : NULL;
}

const char *view_title(enum view_kind kind)
{
	assert(kind < VIEW_COUNT);
	return view_specs[kind].title;
}

bool view_is_tree(enum view_kind kind)
{
	return !view_specs[kind].totals_overlap && !view_specs[kind].in_order;
}

bool view_opens_in_text(enum view_kind kind)
{
	return view_is_tree(kind) || kind == VIEW_PROCESSES;
}

/* Down a call tree one looks for the heavy branches, whatever they do themselves. */
enum view_sort view_first_sort(enum view_kind kind)
{
	return kind == VIEW_TREE || kind == VIEW_BUTTERFLY ? VIEW_SORT_TOTAL : VIEW_SORT_SELF;
}

bool view_can_sort(enum view_kind kind, enum view_sort sort)
{
	return view_specs[kind].sorts >> sort & 1;
}

const char *view_sort_name(int sort)
{
	return sort < VIEW_SORT_CHANGE ? sort_names[sort] : NULL;
}

const char *view_names_name(int names)
{
	return names < VIEW_NAMES_COUNT ? names_names[names] : NULL;
}

const char *view_theme_name(int theme)
{
	static const char *const names[VIEW_THEME_COUNT] = {
		[VIEW_THEME_DARK] = "dark",
		[VIEW_THEME_LIGHT] = "light",
		[VIEW_THEME_MONO] = "mono",
	};

	return theme < VIEW_THEME_COUNT ? names[theme] : NULL;
}

/* --- siblings --- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b; /* heaviest first */
}

/* What may be chance counts as no growth: such rows stay in the order of their weight. */
static int compare_changes(const struct view_change *a, const struct view_change *b)
{
	double x = a->is_there && !a->is_noise ? a->points : 0.0;
	double y = b->is_there && !b->is_noise ? b->points : 0.0;

	return (x < y) - (x > y);
}

/* By what was asked for, then the heaviest first; the key decides between equals. */
static int compare_siblings(const void *left, const void *right, void *arg)
{
	const struct view_scratch *w = arg;
	const struct sibling *a = left, *b = right;
	int order = 0;

	if (w->query->sort == VIEW_SORT_OBJECT)
		order = strcmp(rows_object(w->snapshot, a->func),
			       rows_object(w->snapshot, b->func));
	else if (w->query->sort == VIEW_SORT_NAME)
		order = strcmp(rows_name(w->snapshot, a->func, a->key),
			       rows_name(w->snapshot, b->func, b->key));
	else if (w->query->sort == VIEW_SORT_CHANGE)
		order = compare_changes(&a->change, &b->change);
	if (w->query->sort == VIEW_SORT_SELF ||
	    (w->query->sort == VIEW_SORT_CHANGE && order == 0 && w->spec->totals_overlap))
		order = compare_u64(a->self, b->self);
	if (order == 0)
		order = compare_u64(a->total, b->total);
	if (order == 0)
		order = compare_u64(a->self, b->self);
	return order ? order : (a->key < b->key ? -1 : a->key > b->key);
}

static struct view_change change_of(const struct view_scratch *w, const struct baseline *then,
				    const struct sibling *item)
{
	return baseline_change(then, w->snapshot, item->key,
			       view_first_sort(w->query->kind) == VIEW_SORT_TOTAL ? item->total
										  : item->self);
}

static signed char trend_of(const struct view_change *change)
{
	if (!change->is_there || change->is_noise)
		return 0;
	return change->points > 0 ? 1 : -1;
}

static void compare_with_baselines(struct view_scratch *w, uint32_t first)
{
	const struct view_query *query = w->query;

	if (!query->baseline && !query->before)
		return;
	for (size_t i = first; i < w->nr_siblings; i++) {
		struct sibling *item = &w->siblings[i];
		struct view_change change;

		if (query->baseline)
			item->change = change_of(w, query->baseline, item);
		if (!query->before)
			continue;
		change = change_of(w, query->before, item);
		item->trend = trend_of(&change);
	}
}

/* Drop siblings from FIRST on that are too small (as one "[other]") and sort the others. 0 or -ENOMEM. */
static int finish_siblings(struct view_scratch *w, uint32_t first, uint64_t parent_key)
{
	struct sibling other = {.key = hash_u64(parent_key ^ 0x6f74686572u), .func = SNAPSHOT_NONE};
	size_t nr = first;

	if (w->spec->in_order)
		return 0;
	compare_with_baselines(w, first);
	if (w->spec->has_heads && w->nr_levels == 0)
		return 0;
	for (size_t i = first; i < w->nr_siblings; i++) {
		if (w->siblings[i].total >= w->min_total) {
			w->siblings[nr++] = w->siblings[i];
			continue;
		}
		other.is_upward = w->siblings[i].is_upward;
		/* Of subtrees all weight is inside; totals of functions overlap, their self does not. */
		other.total += w->spec->totals_overlap ? w->siblings[i].self : w->siblings[i].total;
	}
	/* Of a butterfly's callers nothing is their own. */
	other.self = w->spec->has_heads && other.is_upward ? 0 : other.total;
	w->nr_siblings = nr;
	if (nr - first > 1 && !w->query->in_any_order)
		qsort_r(w->siblings + first, nr - first, sizeof(*w->siblings), compare_siblings, w);
	return other.total ? rows_add_sibling(w, other) : 0;
}

/* --- which rows are open: a default for all and a set of exceptions --- */

enum fold_default { FOLD_BY_KIND, FOLD_OPEN, FOLD_CLOSED };

struct fold {
	struct u64map exceptions; /* row key -> is it open */
	enum fold_default rest;
	uint64_t version;
};

struct fold *fold_new(void)
{
	return calloc(1, sizeof(struct fold));
}

struct fold *fold_free(struct fold *fold)
{
	if (!fold)
		return NULL;
	u64map_done(&fold->exceptions);
	free(fold);
	return NULL;
}

void fold_set(struct fold *fold, uint64_t key, bool open)
{
	if (fold->exceptions.nr_used >= FOLD_EXCEPTIONS_MAX &&
	    u64map_get(&fold->exceptions, key) == U64MAP_NONE)
		return;
	fold->version += open;
	/* Without memory the row stays as it is: the person sees that and nothing breaks. */
	(void)u64map_set(&fold->exceptions, key, open);
}

void fold_set_all(struct fold *fold, bool open)
{
	u64map_clear(&fold->exceptions);
	fold->rest = open ? FOLD_OPEN : FOLD_CLOSED;
	fold->version += open;
}

uint64_t fold_version(const struct fold *fold)
{
	return fold ? fold->version : 0;
}

/* BY_DEFAULT: is a row open that the person has not touched? */
static bool fold_is_open(const struct fold *fold, uint64_t key, bool by_default)
{
	uint32_t open = fold ? u64map_get(&fold->exceptions, key) : U64MAP_NONE;

	if (open != U64MAP_NONE)
		return open;
	if (fold && fold->rest != FOLD_BY_KIND)
		return fold->rest == FOLD_OPEN;
	return by_default;
}

/* --- the walk --- */

/*
 * List the children of ITEM (NULL: the first level) below the row PARENT. An
 * only child stays at its parent's indent, except at the first one, where
 * nothing would tell it from its parent's siblings.
 */
static int push_level(struct view_scratch *w, const struct sibling *item,
		      const struct view_row *parent)
{
	struct level level = {.first = (uint32_t)w->nr_siblings, .paths = (uint32_t)w->nr_paths};
	struct sibling copy = item ? *item : (struct sibling){0}; /* siblings[] may move */

	if (w->spec->rows(w, item ? &copy : NULL) < 0 ||
	    finish_siblings(w, level.first, copy.key) < 0 ||
	    vec_reserve(&w->levels, &w->cap_levels, w->nr_levels + 1, UINT32_MAX) < 0)
		return -ENOMEM;
	level.next = level.first;
	level.end = (uint32_t)w->nr_siblings;
	if (parent) {
		level.is_chain = level.end - level.first == 1 && parent->depth > 0;
		level.depth = (uint16_t)MIN(parent->depth + !level.is_chain, UINT16_MAX);
		level.guides = parent->guides;
	}
	w->levels[w->nr_levels++] = level;
	return 0;
}

static struct view_row row_of(const struct view_scratch *w, const struct level *level,
			      const struct sibling *item)
{
	struct view_row row = {
		.key = item->key,
		.func = item->func,
		.self = item->self,
		.total = item->total,
		.file = item->file,
		.line = item->line,
		.repeats = item->repeats,
		.change = item->change,
		.trend = item->trend,
		.item = w->spec->in_order ? item->first : 0,
		.is_code = w->spec->is_code,
		.is_line = w->spec->is_lines && !item->has_children,
		.depth = level->depth,
		.level = (uint32_t)w->nr_levels - 1,
		.has_children = item->has_children,
		.is_chain = level->is_chain,
		.is_last = level->next == level->end,
		.guides = level->guides,
	};
	uint64_t bit = row.depth < GUIDES_MAX ? 1ull << row.depth : 0;

	if (row.is_chain) /* the line belongs to the head of the chain */
		row.is_last = !(row.guides & bit);
	else
		row.guides = row.is_last ? row.guides & ~bit : row.guides | bit;
	row.is_open = item->has_children &&
		      fold_is_open(w->query->fold, item->key,
				   w->query->opens_all || (w->spec->has_heads && row.level == 0) ||
					   (w->spec->opens_hot &&
					    item->total >= w->snapshot->total / HOT_SHARE));
	return row;
}

static int add_row(struct view *view, struct view_row row)
{
	if (vec_reserve(&view->rows, &view->cap_rows, view->nr_rows + 1ul, UINT32_MAX) < 0)
		return -ENOMEM;
	view->rows[view->nr_rows++] = row;
	return 0;
}

static int walk(struct view *view, struct view_scratch *w)
{
	uint32_t limit = MIN(w->query->limit ? w->query->limit : VIEW_ROWS_MAX, VIEW_ROWS_MAX);

	if (push_level(w, NULL, NULL) < 0)
		return -ENOMEM;
	while (w->nr_levels) {
		struct level *level = &w->levels[w->nr_levels - 1];
		struct sibling item;
		struct view_row row;

		if (level->next == level->end) {
			w->nr_siblings = level->first;
			w->nr_paths = level->paths;
			w->nr_levels--;
			continue;
		}
		if (view->nr_rows == limit) {
			view->is_cut = true;
			return 0;
		}
		item = w->siblings[level->next++];
		row = row_of(w, level, &item);
		if (add_row(view, row) < 0 || (row.is_open && push_level(w, &item, &row) < 0))
			return -ENOMEM;
	}
	return 0;
}

uint64_t view_min_total(const struct snapshot *snapshot, const struct view_query *query)
{
	return (uint64_t)(query->min_pct / 100 * (double)snapshot->total);
}

int view_build(struct view *view, const struct snapshot *snapshot, const struct view_query *query)
{
	struct view_scratch *w = view->scratch;

	assert(query->kind < VIEW_COUNT && query->sort < VIEW_SORT_COUNT);
	if (!w)
		w = view->scratch = calloc(1, sizeof(*w));
	view->kind = query->kind;
	view->names = query->names;
	view->ascii = query->ascii;
	view->nr_rows = 0;
	view->is_cut = false;
	view->total = snapshot->total;
	if (!w)
		return -ENOMEM;
	w->snapshot = snapshot;
	w->query = query;
	w->spec = &view_specs[query->kind];
	w->nr_siblings = w->nr_levels = w->nr_paths = 0;
	w->min_total = view_min_total(snapshot, query);
	if (rows_choose_nodes(w) < 0 || rows_find_containers(w) < 0)
		return -ENOMEM;
	if (walk(view, w) < 0)
		return -ENOMEM;
	if (w->spec->finish)
		w->spec->finish(view, snapshot);
	return 0;
}

int view_copy(struct view *ret, const struct view *view, const struct snapshot *snapshot)
{
	size_t nr_in = view->scratch && snapshot->nr_containers ? snapshot->nr_funcs : 0;
	struct view_scratch *w = calloc(1, sizeof(*w));

	*ret = *view;
	ret->scratch = w;
	ret->cap_rows = view->nr_rows;
	ret->rows = malloc((view->nr_rows + 1ul) * sizeof(*ret->rows));
	if (w && ret->rows)
		w->in_funcs = malloc((nr_in + 1) * sizeof(*w->in_funcs));
	if (!w || !w->in_funcs) {
		view_done(ret);
		return -ENOMEM;
	}
	if (view->nr_rows)
		memcpy(ret->rows, view->rows, view->nr_rows * sizeof(*ret->rows));
	if (nr_in)
		memcpy(w->in_funcs, view->scratch->in_funcs, nr_in * sizeof(*w->in_funcs));
	return 0;
}

void view_done(struct view *view)
{
	struct view_scratch *w = view->scratch;

	if (w) {
		free(w->folded);
		free(w->folded_of);
		free(w->siblings);
		free(w->levels);
		free(w->paths);
		free(w->self);
		free(w->in_nodes);
		free(w->in_funcs);
		free(w);
	}
	free(view->rows);
	*view = (struct view){0};
}

/* --- finding --- */

int64_t view_find_key(const struct view *view, uint64_t key)
{
	for (uint32_t i = 0; i < view->nr_rows; i++)
		if (view->rows[i].key == key)
			return i;
	return -1;
}

static bool matches(const struct view *view, const struct snapshot *s, const struct view_row *row,
		    const struct pattern *pattern)
{
	const struct view_spec *spec = &view_specs[view->kind];

	if (spec->matches)
		return spec->matches(s, row, pattern);
	if (row->func < s->nr_funcs && view->names == VIEW_NAMES_MANGLED &&
	    pattern_finds(pattern, snapshot_text(s, s->funcs[row->func].mangled)))
		return true;
	return pattern_finds(pattern, rows_name(s, row->func, row->key)) ||
	       pattern_finds(pattern, rows_object(s, row->func));
}

int64_t view_search(const struct view *view, const struct snapshot *snapshot, uint32_t from,
		    const char *text, bool backward)
{
	uint32_t nr = view->nr_rows, step = backward ? nr - 1 : 1;
	struct pattern pattern;
	int64_t found = -1;

	if (nr == 0 || !*text)
		return -1;
	pattern_open(&pattern, text);
	for (uint32_t i = 0, at = from % nr; i < nr && found < 0; i++) {
		at = (uint32_t)(((uint64_t)at + step) % nr);
		if (matches(view, snapshot, &view->rows[at], &pattern))
			found = at;
	}
	pattern_close(&pattern);
	return found;
}
