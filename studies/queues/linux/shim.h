/* The few kernel types and helpers that the two qdiscs use, for user space. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef u64 psched_time_t;

#define U64_MAX UINT64_MAX
#define BITS_PER_BYTE 8
#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L
#define USEC_PER_MSEC 1000L
#define PSCHED_SHIFT 6
#define PSCHED_NS2TICKS(x) ((x) >> PSCHED_SHIFT)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)
#define typecheck(type, x) 1
#define unlikely(x) (x)
#define clamp_t(type, x, lo, hi) ((type)(x) < (lo) ? (lo) : (type)(x) > (hi) ? (hi) : (type)(x))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define EXPORT_SYMBOL_GPL(x)
#define __rcu
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_CN 2
#define __NET_XMIT_BYPASS 0x20000
#define container_of(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))
#define usecs_to_jiffies(us) ((us) / 1000)
#define uninitialized_var(x) x = x

static u64 now_ns;

static inline u64 ktime_get_ns(void) { return now_ns; }
static inline psched_time_t psched_get_time(void) { return PSCHED_NS2TICKS(now_ns); }
static inline u64 div_u64(u64 number, u32 by) { return number / by; }
static inline u32 reciprocal_scale(u32 value, u32 range) { return ((u64)value * range) >> 32; }

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static inline int list_empty(const struct list_head *list) { return list->next == list; }
static inline void list_add_tail(struct list_head *item, struct list_head *list)
{
	item->prev = list->prev;
	item->next = list;
	list->prev->next = item;
	list->prev = item;
}
static inline void list_del_init(struct list_head *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	INIT_LIST_HEAD(item);
}
static inline void list_move_tail(struct list_head *item, struct list_head *list)
{
	list_del_init(item);
	list_add_tail(item, list);
}
#define list_first_entry(list, type, member) container_of((list)->next, type, member)

struct sk_buff {
	struct sk_buff *next;
	u32 len, truesize;
	u64 id, flow;
	u8 ecn;
	char cb[48];
};

struct qdisc_skb_cb {
	char data[48];
};

static inline struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb)
{
	return (struct qdisc_skb_cb *)skb->cb;
}
static inline void qdisc_cb_private_validate(const struct sk_buff *skb, int size) {}
static inline u32 qdisc_pkt_len(const struct sk_buff *skb) { return skb->len; }
static inline void skb_mark_not_on_list(struct sk_buff *skb) { skb->next = NULL; }
static inline int skb_get_dsfield(struct sk_buff *skb) { return skb->ecn; }
static inline int INET_ECN_set_ce(struct sk_buff *skb)
{
	if (!(skb->ecn & 3))
		return 0;
	skb->ecn |= 3;
	return 1;
}

struct timer_list {
	int unused;
};
struct net_device {
	u32 mtu;
};
struct Qdisc {
	u32 limit;
	struct { u32 backlog, drops; } qstats;
	struct { u32 qlen; struct sk_buff *head, *tail; } q;
	struct net_device dev;
	void *priv;
};

static inline void *qdisc_priv(struct Qdisc *sch) { return sch->priv; }
static inline struct net_device *qdisc_dev(struct Qdisc *sch) { return &sch->dev; }
static inline u32 psched_mtu(struct net_device *dev) { return dev->mtu; }
static inline u32 qdisc_qlen(struct Qdisc *sch) { return sch->q.qlen; }
static inline void qdisc_qstats_drop(struct Qdisc *sch) { sch->qstats.drops++; }
static inline void __qdisc_qstats_drop(struct Qdisc *sch, u32 count) { sch->qstats.drops += count; }
static inline void qdisc_qstats_backlog_inc(struct Qdisc *sch, struct sk_buff *skb)
{
	sch->qstats.backlog += skb->len;
}
static inline void qdisc_bstats_update(struct Qdisc *sch, struct sk_buff *skb) {}
static inline void qdisc_tree_reduce_backlog(struct Qdisc *sch, u32 packets, u32 bytes) {}

static void kfree_skb(struct sk_buff *skb);
static inline void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free) { kfree_skb(skb); }
static inline int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	kfree_skb(skb);
	sch->qstats.drops++;
	return NET_XMIT_CN;
}
static inline int qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
	skb->next = NULL;
	if (sch->q.qlen++)
		sch->q.tail->next = skb;
	else
		sch->q.head = skb;
	sch->q.tail = skb;
	sch->qstats.backlog += skb->len;
	return NET_XMIT_SUCCESS;
}
static inline struct sk_buff *qdisc_dequeue_head(struct Qdisc *sch)
{
	struct sk_buff *skb = sch->q.head;

	if (!sch->q.qlen)
		return NULL;
	sch->q.head = skb->next;
	sch->q.qlen--;
	sch->qstats.backlog -= skb->len;
	return skb;
}

/* SplitMix64: of the inputs, and of the decisions of PIE. */
static u64 split_mix(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}
static u64 mix(u64 number) { return split_mix(&number); }

static u64 decisions;
static inline void get_random_bytes(void *at, int count)
{
	u64 number = split_mix(&decisions);

	memcpy(at, &number, count);
}
