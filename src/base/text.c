/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sanitizing and measuring text: see text.h. */
#include "config.h"

#include "src/base/text.h"
