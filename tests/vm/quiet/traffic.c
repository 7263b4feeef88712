// Send TCP flows from the namespace `sender` to `receiver`, and print one line of JSON:
//
//   traffic seconds=20 from=5 flow=cubic,0,0 flow=bbr,2.5,100000 at='10,class change dev ...'
//
// A flow has a congestion controller, its start in seconds and its bytes (0: no end). `at` gives
// `tc` a command in the namespace `router`. Each 10 ms, TCP_INFO is sampled; figures are those from
// `from` on. `trace=1` prints each sample as well.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { FLOWS = 16, CHANGES = 16, SAMPLES = 1 << 16, BLOCK = 1 << 17, PORT = 5001, TICK_US = 10000 };

// Figures that only grow, of the sender and of the receiver.
struct counts {
	uint64_t received, retransmitted, delivered, marked;
};

struct flow {
	const char *control;
	double start, end;
	uint64_t bytes, written;
	int listener, sender, receiver;
	struct counts first, last;
	uint32_t *srtt_us, samples, min_rtt_us;
};

struct change {
	double at;
	const char *command;
};

static struct flow flows[FLOWS];
static struct change changes[CHANGES];
static int flow_count, change_count, is_traced, poller;
static double seconds = 10, from;
static char block[BLOCK];
static FILE *tc;
static struct timespec origin;

static void fail(const char *step)
{
	fprintf(stderr, "traffic: %s: %s\n", step, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec - origin.tv_sec + (at.tv_nsec - origin.tv_nsec) / 1e9;
}

static void enter(const char *namespace)
{
	char path[64];

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || setns(file, CLONE_NEWNET) < 0)
		fail(path);
	close(file);
}

// TCP still builds bursts, but they are cut into packets at the device, as a network card does. The
// router's queues then see packets as on a wire.
static void cut_bursts_at(const char *device)
{
	struct ethtool_value off = { .cmd = ETHTOOL_STSO };
	struct ifreq request = { .ifr_data = (void *)&off };
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(request.ifr_name, device);
	if (ioctl(any, SIOCETHTOOL, &request) < 0)
		fail("turn TSO off");
	close(any);
}

static int tcp_socket(const char *control)
{
	int one = 1, made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (made < 0 || setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)) < 0)
		fail(control);
	setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return made;
}

static struct sockaddr_in address(int flow)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(PORT + flow),
				     .sin_addr.s_addr = htonl(0x0a000301) };
}

static void watch(int file, uint32_t events, int key)
{
	struct epoll_event event = { .events = events, .data.u32 = key };

	if (epoll_ctl(poller, EPOLL_CTL_ADD, file, &event) < 0)
		fail("epoll_ctl");
}

static void listen_for(int index)
{
	struct sockaddr_in at = address(index);
	struct flow *flow = &flows[index];

	flow->listener = tcp_socket(flow->control);
	if (bind(flow->listener, (void *)&at, sizeof(at)) < 0 || listen(flow->listener, 1) < 0)
		fail("listen");
	watch(flow->listener, EPOLLIN, 3 * index);
}

static void connect_to(int index)
{
	struct sockaddr_in to = address(index);
	struct flow *flow = &flows[index];

	flow->sender = tcp_socket(flow->control);
	if (connect(flow->sender, (void *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		fail("connect");
	watch(flow->sender, EPOLLOUT, 3 * index + 1);
}

static void accept_from(int index)
{
	struct flow *flow = &flows[index];

	flow->receiver = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (flow->receiver < 0)
		fail("accept");
	watch(flow->receiver, EPOLLIN, 3 * index + 2);
}

static void write_to(int index)
{
	struct flow *flow = &flows[index];

	for (;;) {
		uint64_t left = flow->bytes ? flow->bytes - flow->written : BLOCK;
		ssize_t done = left ? send(flow->sender, block, left < BLOCK ? left : BLOCK, 0) : 0;

		if (done > 0)
			flow->written += done;
		if (left == 0 || (done < 0 && errno != EAGAIN && errno != ENOTCONN))
			epoll_ctl(poller, EPOLL_CTL_DEL, flow->sender, NULL);
		if (done <= 0)
			return;
	}
}

static void read_from(int index)
{
	struct flow *flow = &flows[index];
	// TCP discards the data without a copy.
	ssize_t done = recv(flow->receiver, block, BLOCK, MSG_TRUNC);

	if (done > 0)
		flow->last.received += done;
	if (flow->bytes && flow->last.received >= flow->bytes && flow->end == 0)
		flow->end = now();
}

static void sample(int index, double at)
{
	struct flow *flow = &flows[index];
	struct tcp_info info;
	socklen_t size = sizeof(info);

	if (flow->sender <= 0 || getsockopt(flow->sender, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return;
	flow->last.retransmitted = info.tcpi_total_retrans;
	flow->last.delivered = info.tcpi_delivered;
	flow->last.marked = info.tcpi_delivered_ce;
	flow->min_rtt_us = info.tcpi_min_rtt;
	if (at >= from && info.tcpi_rtt && flow->samples < SAMPLES && flow->end == 0)
		flow->srtt_us[flow->samples++] = info.tcpi_rtt;
	if (is_traced)
		printf("%.3f %d srtt=%u cwnd=%u ssthresh=%u retrans=%u delivered=%u ce=%u "
		       "sacked=%u lost=%u reord=%u rate=%llu\n",
		       at, index, info.tcpi_rtt, info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh,
		       info.tcpi_total_retrans, info.tcpi_delivered, info.tcpi_delivered_ce,
		       info.tcpi_sacked, info.tcpi_lost, info.tcpi_reordering,
		       (unsigned long long)info.tcpi_delivery_rate * 8);
}

// Start flows, change links and take samples. Return whether the run goes on.
static int tick(double before, double at)
{
	for (int i = 0; i < change_count; i++)
		if (before < changes[i].at && changes[i].at <= at) {
			fprintf(tc, "%s\n", changes[i].command);
			fflush(tc);
		}
	for (int i = 0; i < flow_count; i++) {
		if (before < flows[i].start && flows[i].start <= at)
			connect_to(i);
		sample(i, at);
		if (before < from && from <= at)
			flows[i].first = flows[i].last;
	}
	return at < seconds;
}

static void run(void)
{
	struct epoll_event events[16];
	struct itimerspec ticks = { { 0, TICK_US * 1000 }, { 0, 1 } };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	double before = -1;

	clock_gettime(CLOCK_MONOTONIC, &origin);
	timerfd_settime(timer, 0, &ticks, NULL);
	watch(timer, EPOLLIN, 3 * FLOWS);
	for (;;) {
		int count = epoll_wait(poller, events, 16, -1);

		for (int i = 0; i < count; i++) {
			int key = events[i].data.u32;
			uint64_t expired;

			if (key < 3 * FLOWS) {
				(void (*[])(int)){ accept_from, write_to, read_from }[key % 3](key / 3);
				continue;
			}
			double at = now();

			if (read(timer, &expired, sizeof(expired)) < 0 || !tick(before, at))
				return;
			before = at;
		}
	}
}

static int ascending(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	return (a > b) - (a < b);
}

static double quantile(const struct flow *flow, double share)
{
	uint32_t at = share * flow->samples;

	return flow->samples ? flow->srtt_us[at < flow->samples ? at : flow->samples - 1] / 1e6 : 0;
}

static void print(struct flow *flow)
{
	double end = flow->end ? flow->end : seconds, start = flow->start > from ? flow->start : from;

	qsort(flow->srtt_us, flow->samples, sizeof(uint32_t), ascending);
	printf("{\"control\": \"%s\", \"goodput_bps\": %.0f, \"min_rtt_s\": %.6f, \"srtt_p5_s\": %.6f, "
	       "\"srtt_p50_s\": %.6f, \"srtt_p95_s\": %.6f, \"retransmitted_packets\": %llu, \"delivered_packets\": %llu, "
	       "\"marked_packets\": %llu, \"completion_s\": %.6f}",
	       flow->control, 8 * (flow->last.received - flow->first.received) / (end - start),
	       flow->min_rtt_us / 1e6, quantile(flow, 0.05), quantile(flow, 0.5), quantile(flow, 0.95),
	       (unsigned long long)(flow->last.retransmitted - flow->first.retransmitted),
	       (unsigned long long)(flow->last.delivered - flow->first.delivered),
	       (unsigned long long)(flow->last.marked - flow->first.marked),
	       flow->end ? flow->end - flow->start : -1);
}

static void take(char *option)
{
	struct flow *flow = &flows[flow_count];
	struct change *change = &changes[change_count];
	char *value = strchr(option, '=');

	if (!value)
		fail(option);
	*value++ = 0;
	if (!strcmp(option, "seconds"))
		seconds = atof(value);
	else if (!strcmp(option, "from"))
		from = atof(value);
	else if (!strcmp(option, "trace"))
		is_traced = atoi(value);
	else if (!strcmp(option, "flow") && flow_count < FLOWS) {
		flow->control = strsep(&value, ",");
		flow->start = atof(strsep(&value, ","));
		flow->bytes = strtoull(value, NULL, 10);
		flow->srtt_us = calloc(SAMPLES, sizeof(uint32_t));
		flow_count++;
	} else if (!strcmp(option, "at") && change_count < CHANGES) {
		change->at = atof(strsep(&value, ","));
		change->command = value;
		change_count++;
	} else
		fail(option);
}

int main(int count, char **options)
{
	for (int i = 1; i < count; i++)
		take(options[i]);
	poller = epoll_create1(EPOLL_CLOEXEC);
	enter("router");
	if (change_count)
		tc = popen("/sbin/tc -batch -", "w");
	enter("receiver");
	for (int i = 0; i < flow_count; i++)
		listen_for(i);
	enter("sender");
	cut_bursts_at("host");
	run();
	printf("{\"flows\": [");
	for (int i = 0; i < flow_count; i++) {
		printf(i ? ", " : "");
		print(&flows[i]);
	}
	printf("]}\n");
	return 0;
}
