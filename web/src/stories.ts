// The stories of Learn: a scenario with text, a question, and a second scenario for the answer.

import { scenarios } from "./shipped.ts";

export interface Story {
  key: string;
  title: string;
  text: string[];
  scenario: string;
  question: string;
  options: string[];
  /** Index of the right option. */
  right: number;
  explanation: string[];
  /** A changed scenario that shows the answer. */
  next: { label: string; scenario: string };
}

const shipped = (path: string) => scenarios[path] ?? "";

/** One upload over a link that drops, with round trips of 50 ms. */
const drop = (to: string, queue: string, controls: string[]) => `title    = "A drop to ${to}"
duration = "60s"
controls = ${JSON.stringify(controls)}

[link.bottleneck]
rate  = { start = "60Mbit", steps = [{ at = "30s", rate = "${to}" }] }
delay = "25ms"
${queue}

[link.back]
delay = "25ms"

[flow.upload]
path = ["bottleneck"]
back = ["back"]
`;

const deep = 'buffer = "1s"';
const codel = 'queue = { kind = "codel", ecn = true }';

const queues = (queue: string) => `title    = "Prague and CUBIC over one link"
duration = "20s"

[link.bottleneck]
rate  = "50Mbit"
delay = "10ms"
${queue}

[link.back]
delay = "10ms"

[flow.prague]
control = "prague"
path    = ["bottleneck"]
back    = ["back"]

[flow.cubic]
control = "cubic"
path    = ["bottleneck"]
back    = ["back"]
`;

const bound: Story = {
  key: "bound",
  title: "The bound",
  text: [
    "A bulk TCP upload fills a link of 60 Mbit/s. After 30 s the link carries only 20 Mbit/s, as a radio link may when you close a door. A round trip without a queue takes 50 ms. The queueing delay jumps; we call its peak the spike.",
    "A part of the spike has nothing to do with the congestion controller. The sender learns of the drop when acknowledgements arrive more slowly, and the packets that it sends after that need time to reach the link. Both together take one round trip. For these 50 ms packets still arrive at 60 Mbit/s and leave at 20 Mbit/s, so the queue grows.",
    "`ideal` is an oracle, no protocol: the link tells it the new capacity, and it sends at that rate from then on. Even its queueing delay rises to 100 ms, the dashed line: (60 / 20 - 1) × 50 ms. This is the bound. No sender that filled the link before the drop can have a smaller spike. `ideal` only holds the rate of the link, so its queue stays; `dctcp` and `cubic` send less for a while and drain it.",
  ],
  scenario: drop("20Mbit", codel, ["cubic", "dctcp", "ideal"]),
  question: "The link falls from 60 to 15 Mbit/s instead. Which is the smallest possible spike?",
  options: ["100 ms, since the round trip is the same", "150 ms", "200 ms, twice the bound above"],
  right: 1,
  explanation: [
    "(60 / 15 - 1) × 50 ms = 150 ms. Only the depth of the drop and the length of the loop count. Another controller can add to the bound, and cannot lower it while it fills the link.",
    "CUBIC is below the bound in this run because it did not fill the link: it had just reduced its window. The sentence above the charts names such reasons for every controller.",
  ],
  next: { label: "Run the drop to 15 Mbit/s", scenario: drop("15Mbit", codel, ["cubic", "dctcp", "ideal"]) },
};

const bufferbloat: Story = {
  key: "bufferbloat",
  title: "Bufferbloat",
  text: [
    "An upload of 10 Mbit/s shares its link with a ping, and with a client that asks for a small page once a second. The modem has a buffer of 300 kB: 240 ms of traffic at this rate.",
    "CUBIC increases its window until a packet is lost, and packets are lost only when the buffer is full. Every packet on the link then waits for some 200 ms, the ping's as well: look at `cubic: ping` in the chart of the round-trip time.",
    "BBR does not wait for losses. It measures the rate of delivery and the least round-trip time, whose product is the data that the path holds without a queue, and keeps about this much in flight. In the same buffer its queueing delay is 8 ms at the median.",
  ],
  scenario: shipped("bufferbloat.toml"),
  question: "The upload must stay CUBIC. Which change lowers the delay of the ping most?",
  options: ["A larger buffer", "A fair queue with CoDel (fq_codel)", "A faster downlink"],
  right: 1,
  explanation: [
    "fq_codel gives each flow its own queue and serves them in turn, so that the ping does not wait behind the upload. CoDel also signals the upload once its own queue has been longer than 5 ms for a while.",
    "A larger buffer would add delay. The downlink has no queue.",
  ],
  next: {
    label: "Run it with fq_codel",
    scenario: shipped("bufferbloat.toml").replace('buffer = "300kB"', 'queue  = "fq_codel"'),
  },
};

const bbr: Story = {
  key: "bbr",
  title: "Why BBR overshoots",
  text: [
    "This is the drop from 60 to 20 Mbit/s of the first story, with a deep buffer, so that no packet is lost. BBR had almost no queue before the drop, and still its spike is more than twice the bound of 100 ms.",
    "BBR paces its packets at the greatest rate of delivery that it measured in the last ten round trips. A second limit keeps the data in flight below twice the product of this rate and the least round-trip time.",
    "After the drop, the measurements of 60 Mbit/s stay in that window of ten round trips. So BBR still sends at 60 Mbit/s until the second limit stops it, at 2 × 60 Mbit/s × 50 ms = 750 kB in flight. At 20 Mbit/s these take 300 ms: 50 ms on the path, and 250 ms in the queue.",
  ],
  scenario: drop("20Mbit", deep, ["bbr", "bbr3", "ideal"]),
  question: "Why does the spike last for seconds?",
  options: [
    "A round trip now takes 300 ms, and the old rate is forgotten after ten",
    "The buffer must lose a packet first",
    "BBR probes for more capacity during the spike",
  ],
  right: 0,
  explanation: [
    "The queue lengthens the round trips that BBR counts: ten of 300 ms are three seconds. Then the old rate leaves the window, and the queue drains.",
    "In the chart of the congestion window, the limit falls at once when this happens. With a drop to one half, the data in flight take 200 ms: 150 ms of queue.",
    "BBR v3 (`bbr3`) forgets a rate after two cycles of probing, and a cycle ends only with measurements that the network alone limited. Every 5 s it sends little for a while to measure the least round-trip time, and marks all data in flight as limited by itself. When the queue has made a cycle as long as that, no cycle ends, and the old rate stays. Change the drop to 6 Mbit/s and the buffer to 10 s: the queue of `bbr` drains, and that of `bbr3` grows to more than 6 s. Google's code for Linux does the same; `control = { kind = \"bbr3\", max_bw_filter = \"repaired\" }` does not.",
  ],
  next: { label: "Run a drop to 30 Mbit/s", scenario: drop("30Mbit", deep, ["bbr", "bbr3", "ideal"]) },
};

const l4s: Story = {
  key: "l4s",
  title: "L4S beside Classic",
  text: [
    "With ECN a queue marks packets instead of dropping them. Prague is a scalable controller: it expects marks in most round trips, and reduces its window by a little for each. A queue for it marks early, at about a millisecond of delay.",
    "CUBIC is a classic controller: it reduces its window by 30 % in each round trip with a mark or a loss, and then needs seconds to grow again. Here both share a FIFO that marks every packet above 1 ms of delay, so both see the same signal.",
    "The goodput shows the effect: Prague has 44 of the 50 Mbit/s, and CUBIC has 2.",
  ],
  scenario: queues('queue = { kind = "threshold", ce_threshold = "1ms" }'),
  question: "DualPI2 gives each kind its own queue. Why do the two queues also share their signal?",
  options: [
    "So that CUBIC's probability of a signal is the square of half of Prague's, and their rates stay comparable",
    "So that both queues have the same length",
    "So that CUBIC becomes scalable",
  ],
  right: 0,
  explanation: [
    "The rate of a classic controller is inversely proportional to the square root of the probability of a signal, and that of a scalable one to the probability itself. DualPI2 derives both probabilities from one value p: p² for CUBIC, and twice p for Prague (RFC 9332, with a coupling factor of 2), so that neither starves. L4S (RFC 9330) is the name of this arrangement.",
    "In the run below, CUBIC waits in its own queue of some 15 ms, and Prague's packets pass in less than one.",
  ],
  next: { label: "Run it over DualPI2", scenario: queues('queue = "dualpi2"') },
};

const lola: Story = {
  key: "lola",
  title: "LoLa's fair balancing",
  text: [
    "Two uploads share a FIFO of 100 Mbit/s with a deep buffer. One has a round trip of 21 ms, the other of 101 ms; the second starts ten seconds later.",
    "CUBIC fills the buffer, so every packet waits for up to 300 ms, and the late flow with the long round trip still has only a fourth of the link after 50 s.",
    "LoLa (Low Latency) reduces its window when the queueing delay exceeds 5 ms, which each sender computes from its round-trip times. While the queue is short, fair flow balancing lets every flow keep the same amount of data in the queue, whichever its round trip. Flows with little data there then grow more than others.",
  ],
  scenario: shipped("lola.toml"),
  question: "Each LoLa flow aims at the same amount of data in a FIFO. Which rates follow from this?",
  options: [
    "They approach each other, as each flow's share of the queue is its share of the link",
    "The longer round trip gets more",
    "The rates keep their first ratio",
  ],
  right: 0,
  explanation: [
    "Packets leave a FIFO in the order of arrival, so the share of a flow in the queue is its share of the link. Equal data in the queue means equal rates. In the charts above, a ratio of 1.35 remains: the near flow has some 54 Mbit/s, and the far one some 40. The round-trip times differ by a factor of five, and with them the time in which each flow responds.",
    "In the run below, the round trips are equal and both flows start together. LoLa's rates become equal, so the difference came from the round trips; CUBIC's still differ after a minute.",
  ],
  next: {
    label: "Run two flows of equal round trips",
    scenario: shipped("lola.toml")
      .replace('back  = ["back_far"]\nstart = "10s"', 'back  = ["back_near"]')
      .replace('[link.back_far]\ndelay = "96ms"\n', ""),
  },
};

const rapid: Story = {
  key: "rapid",
  title: "Rapid and bursts",
  text: [
    "Bursts of other traffic take half of a link of 1 Gbit/s for 100 ms, and pause for 350 ms. A bulk flow should take the rest, at all times.",
    "CUBIC cannot follow within a burst. It fills the buffer of 125 ms instead, and loses packets.",
    "Rapid sends its packets in groups, called chirps. The gaps within a chirp shrink from packet to packet, so that each chirp tests a range of rates. The receiver notes when each packet arrives. From the rate on that exceeds what the others left, the packets arrive with larger gaps than they were sent with: this rate is the estimate, and one chirp gives it.",
  ],
  scenario: shipped("rapid-bursts.toml"),
  question: "`tau` is the time in which Rapid's rate rises to a greater estimate. It is 150 ms here. Which is the effect of 400 ms?",
  options: [
    "It uses less of the pauses, since its rate is still rising when the next burst begins",
    "The queue grows, since its rate is too high for longer",
    "None, since each chirp measures the same rate",
  ],
  right: 0,
  explanation: [
    "The rate covers 63 % of the way to the estimate in one tau, and a pause lasts 350 ms. Rapid then carries some 630 Mbit/s rather than 720. The queue is shorter too, because a burst meets a lower rate.",
    "The second Rapid in these charts receives the true remaining capacity as a signal.",
  ],
  next: {
    label: "Run it with tau = 400 ms",
    scenario: shipped("rapid-bursts.toml").replaceAll('tau = "150ms"', 'tau = "400ms"'),
  },
};

export const STORIES: Story[] = [bound, bufferbloat, bbr, l4s, lola, rapid];
