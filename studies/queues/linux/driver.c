/* Runs a qdisc of Linux in user space on generated input, and prints its decisions as numbers.
 *
 * `make KERNEL=FOLDER`, with the source of a kernel, builds and runs it. */
#include "shim.h"

#if QDISC == PIE
#include "net/pie.h"
#include "sch_pie.part.c"
#else
#include "net/codel.h"
#include "net/codel_impl.h"
#include "net/codel_qdisc.h"
static u32 fq_codel_classify(struct sk_buff *skb, struct Qdisc *sch, int *qerr);
#include "sch_fq_codel.part.c"
#endif

/* One input: steps of which `put` in 1000 are arrivals, in turn for each period; the others are
 * dequeues. A step comes 0 to 2 * gap_ns later than the one before it. */
struct input {
	const char *name;
	u64 seed, steps, period, gap_ns;
	u32 put[3];
	u64 flows;
	u32 limit, ecn_capable, least, most;
	bool ecn, bytemode, estimator;
	u64 pause;
};

static const struct input inputs[] = {
#if QDISC == PIE
	{"steady", 1, 360000, 1000, 500000, {502, 500, 498}, 4, 1000, 0, 1500, 1500, 0, 0, 0, 0},
	{"overload", 2, 360000, 5000, 300000, {560, 520, 440}, 4, 1000, 2, 64, 1514, 1, 0, 0, 0},
	{"bytes", 3, 360000, 5000, 300000, {540, 520, 460}, 4, 1000, 0, 64, 1514, 0, 1, 0, 0},
	{"estimator", 4, 360000, 5000, 300000, {540, 510, 470}, 4, 1000, 4, 64, 1514, 1, 0, 1, 0},
	{"pauses", 5, 360000, 2000, 300000, {600, 500, 400}, 4, 1000, 4, 64, 1514, 1, 0, 0, 20000},
	{"flood", 6, 360000, 20000, 1000000, {900, 800, 300}, 4, 1000, 4, 64, 1514, 1, 0, 0, 0},
#else
	{"steady", 1, 360000, 1000, 300000, {510, 500, 490}, 8, 10240, 0, 1500, 1500, 1, 0, 0, 0},
	{"marks", 2, 360000, 5000, 300000, {560, 520, 440}, 8, 10240, 4, 64, 1514, 1, 0, 0, 0},
	{"overload", 3, 360000, 20000, 100000, {700, 600, 400}, 8, 1000, 0, 64, 1514, 1, 0, 0, 0},
	{"few", 4, 360000, 20000, 100000, {800, 700, 500}, 2, 200, 2, 64, 1514, 1, 0, 0, 0},
	{"sparse", 5, 360000, 300, 1000000, {520, 480, 500}, 100, 300, 2, 64, 1514, 1, 0, 0, 0},
	{"no ECN", 6, 360000, 5000, 300000, {560, 520, 440}, 8, 10240, 4, 64, 1514, 0, 0, 0, 0},
#endif
};

/* Decisions of a run: counts, and a hash (FNV-1a) of the fate of every packet with its step. */
static u64 step, drops, marks, delivered, hash;

static void note(u64 number)
{
	for (int byte = 0; byte < 8; byte++)
		hash = (hash ^ (number >> 8 * byte & 255)) * 0x100000001b3;
}

static void fate(u64 kind, const struct sk_buff *skb)
{
	note(step);
	note(kind);
	note(skb->id);
	if (getenv("FATES"))
		printf("%lu %lu %lu\n", step, kind, skb->id);
}

static void kfree_skb(struct sk_buff *skb)
{
	drops++;
	fate(0, skb);
	free(skb);
}

#if QDISC == PIE
static struct pie_sched_data qdisc;

static void begin(struct Qdisc *sch, const struct input *in)
{
	memset(&qdisc, 0, sizeof(qdisc));
	pie_params_init(&qdisc.params);
	pie_vars_init(&qdisc.vars);
	qdisc.params.ecn = in->ecn;
	qdisc.params.bytemode = in->bytemode;
	qdisc.params.dq_rate_estimator = in->estimator;
	decisions = in->seed;
	sch->priv = &qdisc;
}
/* The timer of `pie_init` and `pie_timer`. */
static void timers(struct Qdisc *sch, u64 until)
{
	static u64 next;

	if (!step)
		next = NSEC_PER_SEC / 2;
	for (; next <= until; next += 15 * NSEC_PER_MSEC) {
		now_ns = next;
		pie_calculate_probability(&qdisc.params, &qdisc.vars, sch->qstats.backlog);
	}
}
static void put(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL;

	pie_qdisc_enqueue(skb, sch, &to_free);
}
static struct sk_buff *take(struct Qdisc *sch)
{
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (skb)
		pie_process_dequeue(skb, &qdisc.params, &qdisc.vars, sch->qstats.backlog);
	return skb;
}
#else
#define FLOWS 1024
static struct fq_codel_sched_data qdisc;
static u64 salt;

static u32 fq_codel_classify(struct sk_buff *skb, struct Qdisc *sch, int *qerr)
{
	return (((mix(skb->flow ^ salt) >> 32) * FLOWS) >> 32) + 1;
}

static void begin(struct Qdisc *sch, const struct input *in)
{
	free(qdisc.flows);
	free(qdisc.backlogs);
	memset(&qdisc, 0, sizeof(qdisc));
	INIT_LIST_HEAD(&qdisc.new_flows);
	INIT_LIST_HEAD(&qdisc.old_flows);
	codel_params_init(&qdisc.cparams);
	qdisc.cparams.ecn = in->ecn;
	qdisc.cparams.mtu = sch->dev.mtu;
	qdisc.flows_cnt = FLOWS;
	qdisc.memory_limit = UINT32_MAX;
	qdisc.drop_batch_size = 64;
	qdisc.quantum = 1514;
	qdisc.flows = calloc(FLOWS, sizeof(*qdisc.flows));
	qdisc.backlogs = calloc(FLOWS, sizeof(u32));
	for (int at = 0; at < FLOWS; at++)
		INIT_LIST_HEAD(&qdisc.flows[at].flowchain);
	salt = mix(in->seed);
	sch->priv = &qdisc;
}
static void timers(struct Qdisc *sch, u64 until) {}
static void put(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL;

	fq_codel_enqueue(skb, sch, &to_free);
}
static struct sk_buff *take(struct Qdisc *sch) { return fq_codel_dequeue(sch); }
#endif

static void run(const struct input *in)
{
	struct Qdisc sch = {.limit = in->limit, .dev = {.mtu = 1514}};
	u64 state = in->seed, at = 0, id = 0;

	drops = marks = delivered = 0;
	hash = 0xcbf29ce484222325;
	begin(&sch, in);
	for (step = 0; step < in->steps; step++) {
		at += split_mix(&state) % (2 * in->gap_ns + 1);
		if (in->pause && step % in->pause == 0)
			at += NSEC_PER_SEC;
		timers(&sch, at);
		now_ns = at;
		if (split_mix(&state) % 1000 < in->put[step / in->period % 3]) {
			struct sk_buff *skb = calloc(1, sizeof(*skb));

			/* Half of the packets are of the first flow. */
			skb->flow = split_mix(&state) % 2 ? split_mix(&state) % in->flows : 0;
			skb->len = in->least + split_mix(&state) % (in->most - in->least + 1);
			skb->ecn = split_mix(&state) % 4 < in->ecn_capable ? 2 : 0;
			skb->truesize = skb->len;
			skb->id = id++;
			put(&sch, skb);
		} else {
			struct sk_buff *skb = take(&sch);

			if (skb) {
				delivered++;
				marks += skb->ecn == 3;
				fate(skb->ecn == 3 ? 2 : 1, skb);
				free(skb);
			}
		}
	}
	printf("%s: %lu delivered, %lu dropped, %lu marked, hash %016lx\n", in->name, delivered,
	       drops, marks, hash);
}

int main(int argc, char **argv)
{
	for (u64 at = 0; at < sizeof(inputs) / sizeof(*inputs); at++)
		if (argc < 2 || !strcmp(argv[1], inputs[at].name))
			run(&inputs[at]);
	return 0;
}
