/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a shell needs to complete the command line. Made from the option table (options.h); knows no option itself. */
#ifndef ST_COMPLETION_H
#define ST_COMPLETION_H

#include "src/options.h"

#include <stdio.h>

/* Print the script for SHELL to STREAM. */
void completion_print(enum options_shell shell, FILE *stream);

#endif
