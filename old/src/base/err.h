/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A message for the person who asked for an operation. It is made once, where
 * the cause is known, and carried up unchanged; main prints it, the screen
 * shows it. Plain operations return -errno alone.
 */
#ifndef ST_BASE_ERR_H
#define ST_BASE_ERR_H

#define ERR_TEXT_MAX 512

struct err {
	int code;		 /* negative errno, 0: no error */
	char text[ERR_TEXT_MAX]; /* what failed and why, one line, sanitized */
	char hint[ERR_TEXT_MAX]; /* the exact thing to do about it, or "" */
};

/*
 * Fill ERR (which may be NULL) with CODE (negative errno) and a printf-style
 * text of one line. Clears the hint. Returns CODE, so that a caller can write
 * `return err_set(err, -EINVAL, ...)`.
 */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add what the person can do about it (printf style, one line). */
void err_hint(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
