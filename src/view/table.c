/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of views. Everything that tells one view from another is an entry of it or stands in the
 * file of its rows: whoever builds, prints or searches rows asks the table, and not which view it is.
 */
#include "config.h"

#include "src/view/annotate.h"
#include "src/view/health.h"
#include "src/view/processes.h"
#include "src/view/rows.h"

#define FUNCTION_SORTS                                                         \
	(1u << VIEW_SORT_SELF | 1u << VIEW_SORT_TOTAL | 1u << VIEW_SORT_NAME | \
	 1u << VIEW_SORT_OBJECT | 1u << VIEW_SORT_CHANGE)

const struct view_spec view_specs[VIEW_COUNT] = {
	[VIEW_FUNCTIONS] = {.name = "functions",
			    .title = "Functions",
			    .columns = 1u << COLUMN_SELF | 1u << COLUMN_TREND | 1u << COLUMN_TOTAL |
				       1u << COLUMN_CHANGE | 1u << COLUMN_ERROR |
				       1u << COLUMN_SAMPLES | 1u << COLUMN_FUNCTION |
				       1u << COLUMN_OBJECT | 1u << COLUMN_LINE |
				       1u << COLUMN_PROCESSES | 1u << COLUMN_THREADS |
				       1u << COLUMN_CONTAINER,
			    .function_width_min = 20,
			    .sorts = FUNCTION_SORTS,
			    .totals_overlap = true,
			    .rows = rows_functions},
	[VIEW_CALLERS] = {.name = "callers",
			  .title = "Callers",
			  .columns = 1u << COLUMN_SELF | 1u << COLUMN_TREND | 1u << COLUMN_CHANGE |
				     1u << COLUMN_ERROR | 1u << COLUMN_SAMPLES |
				     1u << COLUMN_FUNCTION | 1u << COLUMN_OBJECT,
			  .function_width_min = 32,
			  .sorts = FUNCTION_SORTS,
			  .rows = rows_callers},
	[VIEW_TREE] = {.name = "tree",
		       .title = "Call tree",
		       .columns = 1u << COLUMN_SELF | 1u << COLUMN_TREND | 1u << COLUMN_TOTAL |
				  1u << COLUMN_CHANGE | 1u << COLUMN_ERROR | 1u << COLUMN_SAMPLES |
				  1u << COLUMN_FUNCTION | 1u << COLUMN_OBJECT | 1u << COLUMN_LINE,
		       .function_width_min = 32,
		       .sorts = FUNCTION_SORTS,
		       .opens_hot = true,
		       .rows = rows_tree},
	[VIEW_BUTTERFLY] = {.name = "butterfly",
			    .title = "Butterfly",
			    .columns = 1u << COLUMN_SELF | 1u << COLUMN_TREND | 1u << COLUMN_TOTAL |
				       1u << COLUMN_CHANGE | 1u << COLUMN_ERROR |
				       1u << COLUMN_SAMPLES | 1u << COLUMN_FUNCTION |
				       1u << COLUMN_OBJECT,
			    .function_width_min = 32,
			    .sorts = FUNCTION_SORTS,
			    .has_heads = true,
			    .rows = rows_butterfly},
	[VIEW_PROCESSES] = {.name = "processes",
			    .title = "Processes",
			    .columns = 1u << COLUMN_SELF | 1u << COLUMN_SAMPLES |
				       1u << COLUMN_FUNCTION | 1u << COLUMN_THREADS |
				       1u << COLUMN_USER | 1u << COLUMN_CONTAINER |
				       1u << COLUMN_STACKS,
			    .keeps = 1u << COLUMN_USER | 1u << COLUMN_CONTAINER,
			    .function_width_min = 20,
			    .sorts = 1u << VIEW_SORT_SELF | 1u << VIEW_SORT_NAME |
				     1u << VIEW_SORT_THREADS | 1u << VIEW_SORT_USER |
				     1u << VIEW_SORT_CONTAINER | 1u << VIEW_SORT_STACKS,
			    .in_order = true,
			    .function_title = "process",
			    .rows = processes_rows,
			    .cell = processes_cell,
			    .matches = processes_matches},
	[VIEW_HEALTH] = {.name = "health",
			 .title = "Health",
			 .columns = 1u << COLUMN_NOW | 1u << COLUMN_RUN | 1u << COLUMN_FUNCTION |
				    1u << COLUMN_NOTE,
			 .function_width_min = 20,
			 .opens_hot = true,
			 .in_order = true,
			 .is_lines = true,
			 .rows = health_rows,
			 .cell = health_cell,
			 .matches = health_matches},
	[VIEW_ANNOTATE] = {.title = "Annotate",
			   .columns = 1u << COLUMN_SELF | 1u << COLUMN_SAMPLES |
				      1u << COLUMN_ADDRESS | 1u << COLUMN_FUNCTION,
			   .function_width_min = 32,
			   .in_order = true,
			   .is_code = true,
			   .function_title = "instruction",
			   .rows = annotate_rows,
			   .finish = annotate_finish,
			   .cell = annotate_cell,
			   .matches = annotate_matches},
};
