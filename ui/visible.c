/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions are on the screen: what is not known of them is asked for first. Draws nothing. */
#include "config.h"

#include "src/base/util.h"
#include "ui/state.h"

#include <string.h>

static void add(const struct ui *ui, uint32_t func, struct visible *ret)
{
	if (func < ui->snapshot->nr_funcs && ret->nr < VISIBLE_MAX)
		ret->keys[ret->nr++] = ui->snapshot->funcs[func].key;
}

static void add_rows(const struct ui *ui, struct visible *ret)
{
	const struct list *list = &ui->lists[ui->here];
	uint32_t end = MIN(list->top + list->height, list->view.nr_rows);

	for (uint32_t i = list->top; i < end; i++)
		add(ui, list->view.rows[i].func, ret);
}

static void add_cells(const struct ui *ui, struct visible *ret)
{
	const struct flame_state *f = &ui->flame;

	for (size_t i = 0; i < f->flame.nr; i++) {
		const struct flame_cell *cell = &f->flame.cells[i];

		if (cell->depth >= f->top && cell->depth - f->top < (uint32_t)f->nr_lines)
			add(ui, ui->snapshot->nodes[cell->node].func, ret);
	}
}

static bool is_same(const struct visible *a, const struct visible *b)
{
	return a->nr == b->nr && memcmp(a->keys, b->keys, a->nr * sizeof(a->keys[0])) == 0;
}

void visible_tell(struct ui *ui)
{
	struct visible now = {0};

	if (!ui->snapshot || ui->is_stale)
		return;
	if (ui->flame.is_shown)
		add_cells(ui, &now);
	else
		add_rows(ui, &now);
	if (annotate_is_shown(ui) && now.nr < VISIBLE_MAX)
		now.keys[now.nr++] = ui->code.key;
	if (!is_same(&now, &ui->visible) && channel_tell_visible(ui->channel, &now) == 0)
		ui->visible = now;
}
