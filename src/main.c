/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way in and the only way out. */
#include "config.h"

int main(void)
{
	return 0;
}
