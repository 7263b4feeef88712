/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Integer arithmetic of the controllers, for the kernel and for native programs. BPF has neither
 * floats nor 128-bit numbers. Fractions have 20 bits ("q20").
 */
#ifndef SOJOURN_FIXED_H
#define SOJOURN_FIXED_H

typedef unsigned int u32;
typedef unsigned long long u64;

/* The names of a controller's parts: `lola`, `lola_params`, `lola_init`. */
#define JOIN(a, b) a##_##b
#define NAMED(a, b) JOIN(a, b)
#define METHOD(name) NAMED(CONTROLLER, name)
#define PARAMS NAMED(CONTROLLER, params)

#define INLINE static inline __attribute__((always_inline))

#define NONE (~0ULL)
#define Q20 20
#define NS_PER_MS 1000000ULL
#define US_PER_S 1000000ULL

INLINE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 greatest(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 add_saturating(u64 a, u64 b)
{
	return a > NONE - b ? NONE : a + b;
}

INLINE u64 sub_saturating(u64 a, u64 b)
{
	return a < b ? 0 : a - b;
}

INLINE u64 mul_saturating(u64 a, u64 b)
{
	return b && a > NONE / b ? NONE : a * b;
}

#define SCALED_MOST (1ULL << 42) /* 4 TiB */

/* `value` times a fraction of at most 2, rounded down. */
INLINE u64 scale(u64 value, u64 fraction_q20)
{
	return (least(value, SCALED_MOST) * fraction_q20) >> Q20;
}

#define CUBE_MOST ((1ULL << 63) - 1)

/*
 * Cube root, rounded down. Newton's method from above, with a fixed number of steps, since the
 * verifier follows every branch. The start is at most twice the root, so seven steps suffice.
 */
INLINE u64 cube_root(u64 value)
{
	u64 x, i;

	value = least(value, CUBE_MOST);
	if (!value)
		return 0;
	x = 1ULL << ((66 - __builtin_clzll(value)) / 3);
	for (i = 0; i < 7; i++)
		x = (2 * x + value / (x * x)) / 3;
	/* Rounded steps may end one above the root, never below. */
	return x * x * x > value ? x - 1 : x;
}

#endif
