// The stories of Learn.

import { brief, percent } from "./formatting.ts";
import { scenarios } from "./shipped.ts";
import { type Story, type Values, delayOf, goodputOf, spikeOf } from "./story.ts";

const shipped = (path: string) => scenarios[path] ?? "";
const number = (values: Values, key: string) => Number(values[key]);

interface Upload {
  title: string;
  /** Whether the sender asks for ECN, for each controller that can use it. */
  ecn?: boolean;
  duration?: number;
  /** Rate in Mbit/s, and after the drop half-way. */
  rate: number;
  to?: number;
  rtt: number;
  queue: string;
  controls: string[];
}

/** One upload over a link, which may lose capacity half-way. */
function upload({ title, ecn: asks = false, duration = 60, rate, to, rtt, queue, controls }: Upload): string {
  const steps = `{ start = "${rate}Mbit", steps = [{ at = "${duration / 2}s", rate = "${to}Mbit" }] }`;
  return `title    = "${title}"
duration = "${duration}s"
controls = ${JSON.stringify(controls)}
${asks ? "host     = { ecn = true }\n" : ""}
[link.bottleneck]
rate  = ${to === undefined ? `"${rate}Mbit"` : steps}
delay = "${rtt / 2}ms"
${queue}

[link.back]
delay = "${rtt / 2}ms"

[flow.upload]
path = ["bottleneck"]
back = ["back"]
`;
}

const deep = 'buffer = "2s"';
const codel = 'queue = { kind = "codel", ecn = true }';
const to = { kind: "slider", min: 10, max: 55, step: 1, unit: "Mbit/s", label: "Rate after the drop" } as const;

const bound: Story = {
  key: "bound",
  title: "The bound",
  text: [
    "A bulk upload fills a link of 60 Mbit/s. After 30 s the capacity falls to [to], as that of a radio link may when you close a door. The queueing delay jumps, and its peak is called the spike.",
    "A part of the spike has nothing to do with the controller. A round trip takes [rtt]. For that time the packets still arrive at 60 Mbit/s, because no sender can know of the drop, and leave at {to}. So the queue grows by (60 / {number} - 1) × {rtt} = {bound}. This is the bound, the dashed line.",
    "`ideal` is an oracle, no protocol: the link tells it the new capacity. Even its delay rises to {ideal}. It only holds the rate of the link, so its queue stays; `dctcp` and `cubic` send less for a while, and drain theirs.",
  ],
  controls: { to, rtt: { kind: "slider", min: 10, max: 200, step: 10, unit: "ms", label: "Round-trip time" } },
  start: { to: 20, rtt: 50 },
  scenario: ({ to: after, rtt }) =>
    upload({ title: `A drop to ${after} Mbit/s`, rate: 60, to: Number(after), rtt: Number(rtt), queue: codel, controls: ["cubic", "dctcp", "ideal"] }),
  figures: (values, experiment) => ({
    to: `${values["to"]} Mbit/s`,
    number: String(values["to"]),
    rtt: `${values["rtt"]} ms`,
    bound: brief((60 / number(values, "to") - 1) * number(values, "rtt") * 1e-3),
    ideal: spikeOf(experiment, "ideal"),
  }),
  question: "The link falls from 60 to 15 Mbit/s, and the round trip is 50 ms. Which is the smallest possible spike?",
  asked: { to: 15, rtt: 50 },
  options: [
    { text: "100 ms, since the round trip is the same", claim: 0.1, answer: "The spikes in the picture pass this line. The rate after the drop counts too." },
    { text: "150 ms", claim: 0.15, answer: "(60 / 15 - 1) × 50 ms = 150 ms." },
    { text: "200 ms, twice the bound above", claim: 0.2, answer: "`ideal` stays below this line." },
  ],
  right: 1,
  explanation: [
    "Only the depth of the drop and the length of the loop count. Another controller can add to the bound, and cannot lower it while it fills the link. `cubic` can be below it if it had just reduced its window, and did not fill the link.",
  ],
};

const bufferbloat: Story = {
  key: "bufferbloat",
  title: "Bufferbloat",
  lead: "rtt",
  part: "all",
  text: [
    "An upload of 10 Mbit/s begins after 5 s. It shares its link with a ping. The modem has a buffer of [buffer]: {time} of traffic at this rate, and its queue is [queue].",
    "CUBIC increases its window until a packet is lost, and packets are lost only when the buffer is full. Every packet on the link then waits, the ping's as well: the line `cubic: ping` rises to {cubic}.",
    "BBR does not wait for losses. It measures the rate of delivery and the least round-trip time, whose product is the data that the path holds without a queue. The ping beside it takes {bbr}.",
  ],
  controls: {
    buffer: { kind: "slider", min: 20, max: 1000, step: 20, unit: "kB", label: "Buffer" },
    queue: { kind: "choice", options: [["droptail", "a plain FIFO"], ["fq_codel", "fq_codel"], ["pie", "PIE"]], label: "Queue" },
  },
  start: { buffer: 300, queue: "droptail" },
  scenario: ({ buffer, queue }) =>
    withoutClient(shipped("bufferbloat.toml")).replace('buffer = "300kB"', `buffer = "${buffer}kB"\nqueue  = "${queue}"`),
  figures: (values, experiment) => ({
    time: brief((number(values, "buffer") * 8e3) / 10e6),
    cubic: pingOf(experiment.summaries(), "cubic"),
    bbr: pingOf(experiment.summaries(), "bbr"),
  }),
  question: "The upload must stay CUBIC, and the buffer is 300 kB. Which change lowers the delay of the ping most?",
  asked: { buffer: 300, queue: "droptail" },
  options: [
    { text: "A larger buffer", values: { buffer: 600 }, answer: "The picture shows 600 kB: the ping waits twice as long." },
    { text: "A fair queue with CoDel (fq_codel)", values: { queue: "fq_codel" }, answer: "The picture shows it: the ping hardly notices the upload." },
    { text: "PIE, a FIFO that drops early", values: { queue: "pie" }, answer: "It helps much, as the picture shows, but the ping still stands in the queue of the upload." },
  ],
  right: 1,
  explanation: [
    "fq_codel gives each flow its own queue and serves them in turn, so the ping does not wait behind the upload. CoDel also signals the upload once its own queue has been longer than 5 ms for a while.",
  ],
};

/** The scenario with the upload and the ping alone. */
const withoutClient = (toml: string) => toml.replace(/\n\[flow\.client\][^]*/, "").replace("A ping and a client", "A ping");

/** The 99th percentile of a ping's round-trip times beside a controller. */
function pingOf(runs: readonly { control: string; flows: readonly { name: string; rtt_p99_s: number | null }[] }[], control: string): string {
  const flows = runs.find((run) => run.control === control)?.flows;
  return brief(flows?.find(({ name }) => name === "ping")?.rtt_p99_s ?? 0);
}

const buffers: Story = {
  key: "buffers",
  title: "Why buffers are large",
  part: "all",
  text: [
    "If a buffer does harm, why not remove it? One Reno flow fills a link of 50 Mbit/s, and a round trip takes 50 ms, so the path itself holds 312 kB: the bandwidth-delay product. The buffer is [buffer] of it.",
    "When the buffer is full, a packet is lost and Reno halves its window. Half of path and buffer together must still fill the path, or the link idles until the window has grown again. Here the link is used at {used}, and packets wait up to {delay}.",
    "A buffer of one bandwidth-delay product is the old rule: half of two products is one. Buffers that sit where the rate varies are chosen for the greatest rate, and become very large when it falls.",
  ],
  controls: { buffer: { kind: "slider", min: 2, max: 300, step: 2, unit: "%", label: "Buffer" } },
  start: { buffer: 10 },
  scenario: ({ buffer }) =>
    upload({ title: `A buffer of ${buffer} %`, rate: 50, rtt: 50, queue: `buffer = "${Math.round(3125 * Number(buffer))}B"`, controls: ["reno", "cubic"] }),
  figures: (_, experiment) => ({
    used: percent(experiment.summaries()[0]?.links.find(({ name }) => name === experiment.focus)?.utilisation ?? 0),
    delay: delayOf(experiment, "reno", "max"),
  }),
  question: "CUBIC reduces its window by 30 %, not by half. Which buffer does it need to keep the link full?",
  asked: { buffer: 44 },
  options: [
    { text: "About 43 % of the product: 0.7 of 1.43 is 1", values: { buffer: 44 }, answer: "In the picture, `cubic` keeps the queue from running empty." },
    { text: "The same as Reno, one product", values: { buffer: 100 }, answer: "It suffices, as the picture shows, but the queue of `cubic` never runs empty: it is longer than needed." },
    { text: "None, since it grows faster", values: { buffer: 2 }, answer: "The picture shows it: the link idles after each loss." },
  ],
  right: 0,
  explanation: [
    "A window of path and buffer, times 0.7, must hold the path: the buffer is 1 / 0.7 - 1 = 43 % of the product. With many flows, whose losses do not come together, the need falls further (Appenzeller, Keslassy and McKeown: by the square root of their number). Signals other than a full buffer need less still.",
  ],
};

const bbr: Story = {
  key: "bbr",
  title: "Why BBR overshoots",
  text: [
    "A link falls from 60 to [to], with a deep buffer, so that no packet is lost. BBR had almost no queue before the drop, and still its spike is {spike}, beside a bound of {bound}.",
    "BBR paces its packets at the greatest rate of delivery that it measured in the last ten round trips. A second limit keeps the data in flight below twice the product of this rate and the least round-trip time.",
    "After the drop, the measurements of 60 Mbit/s stay in that window. So BBR still sends at 60 Mbit/s until the second limit stops it, at 2 × 60 Mbit/s × 50 ms = 750 kB in flight. At {to} these take {flight}: 50 ms on the path, and the rest in the queue.",
  ],
  controls: { to },
  start: { to: 20 },
  scenario: ({ to: after }) =>
    upload({ title: `BBR at a drop to ${after} Mbit/s`, rate: 60, to: Number(after), rtt: 50, queue: deep, controls: ["bbr", "bbr3", "ideal"] }),
  figures: (values, experiment) => ({
    to: `${values["to"]} Mbit/s`,
    spike: spikeOf(experiment, "bbr"),
    bound: brief((60 / number(values, "to") - 1) * 0.05),
    flight: brief(6 / number(values, "to")),
  }),
  question: "Why does the spike of a drop to 20 Mbit/s last for seconds?",
  asked: { to: 20 },
  options: [
    { text: "A round trip now takes 300 ms, and the old rate is forgotten after ten", answer: "The queue lengthens the round trips that BBR counts: ten of 300 ms are three seconds. Then the old rate leaves the window, and the queue drains." },
    { text: "The buffer must lose a packet first", answer: "No packet is lost in this run: the buffer holds 2 s." },
    { text: "BBR probes for more capacity during the spike", answer: "Probing adds a quarter for one round trip of eight. The rate that it multiplies is the cause: it is old." },
  ],
  right: 0,
  explanation: [
    "In the chart of the congestion window, the limit falls at once when this happens.",
    "BBR v3 (`bbr3`) forgets a rate after two cycles of probing, and a cycle ends only with measurements that the network alone limited. Every 5 s it sends little for a while to measure the least round-trip time, and marks all data in flight as limited by itself. When the queue has made a cycle as long as that, no cycle ends, and the old rate stays.",
  ],
};

const ecn: Story = {
  key: "ecn",
  title: "What ECN changes",
  part: "all",
  text: [
    "CoDel tells a sender that its queue has lasted too long. It can drop a packet, or with ECN mark it as congested and pass it on. The senders ask for ECN, as Linux does for few controllers by default, and CoDel [ecn].",
    "The controllers respond alike to both, so the queues are nearly the same: {delay} at the 99th percentile for CUBIC. The difference is the packets: {dropped} were dropped, {marked} were marked, and {resent} were sent again.",
    "A lost packet must be noticed and sent again, and all data behind it waits at the receiver. For a call or a page this is a round trip or more.",
  ],
  controls: { ecn: { kind: "choice", options: [["false", "drops packets"], ["true", "marks packets"]], label: "CoDel" } },
  start: { ecn: "false" },
  scenario: ({ ecn: marks }) =>
    upload({ title: marks === "true" ? "CoDel that marks" : "CoDel that drops", ecn: true, duration: 30, rate: 20, rtt: 50, queue: `queue = { kind = "codel", ecn = ${marks} }`, controls: ["cubic", "reno"] }),
  figures: (_, experiment) => {
    const flow = experiment.summaries()[0]?.flows[0];
    return {
      delay: delayOf(experiment, "cubic"),
      dropped: String(flow?.dropped_packets ?? 0),
      marked: String(flow?.marked_packets ?? 0),
      resent: String(flow?.retransmitted_packets ?? 0),
    };
  },
  question: "A link marks instead of dropping. What becomes of the queueing delay of CUBIC?",
  asked: { ecn: "true" },
  options: [
    { text: "It halves", answer: "The picture shows the marks: the delay is that of the drops. CUBIC responds to a mark as to a loss." },
    { text: "It stays, but no data waits for a retransmission", answer: "The queue is the same, and the retransmissions are gone." },
    { text: "It grows, since no packet leaves the queue early", answer: "The picture shows the marks: some packets of one drop do not change the delay." },
  ],
  right: 1,
  explanation: ["To lower the delay as well, the response must change: DCTCP and Prague reduce their window by a little for each mark, so a queue may mark much earlier. That is the next story."],
};

const l4s: Story = {
  key: "l4s",
  title: "L4S beside Classic",
  lead: "rate",
  part: "all",
  text: [
    "Prague is a scalable controller: it expects marks in most round trips, and reduces its window by a little for each. CUBIC is a classic controller: it reduces its window by 30 % in each round trip with a mark or a loss.",
    "Both ask for ECN, and share a link of 50 Mbit/s over [queue]. A FIFO that marks early gives both the same signal.",
    "The goodput shows the effect: Prague has {prague}, and CUBIC has {cubic}.",
  ],
  controls: { queue: { kind: "choice", options: [["threshold", "a FIFO that marks above 1 ms"], ["dualpi2", "DualPI2"], ["fq_codel", "fq_codel"]], label: "Queue" } },
  start: { queue: "threshold" },
  scenario: ({ queue }) => queues(queue === "threshold" ? '{ kind = "threshold", ce_threshold = "1ms" }' : `"${queue}"`),
  figures: (_, experiment) => ({ prague: goodputOf(experiment, "", "prague"), cubic: goodputOf(experiment, "", "cubic") }),
  question: "DualPI2 gives each kind its own queue. Why do the two queues also share their signal?",
  asked: { queue: "dualpi2" },
  options: [
    { text: "So that CUBIC's probability of a signal is the square of half of Prague's, and their rates stay comparable", answer: "The picture shows both over DualPI2." },
    { text: "So that both queues have the same length", answer: "They do not: CUBIC waits some 15 ms, and Prague's packets pass in less than one." },
    { text: "Separate queues would do, as fq_codel shows", values: { queue: "fq_codel" }, answer: "The picture shows fq_codel: the rates are equal, but its scheduler must tell every flow from the others. DualPI2 has two queues for all." },
  ],
  right: 0,
  explanation: [
    "The rate of a classic controller is inversely proportional to the square root of the probability of a signal, and that of a scalable one to the probability itself. DualPI2 derives both from one value p: p² for CUBIC, and twice p for Prague (RFC 9332, with a coupling factor of 2), so that neither starves. L4S (RFC 9330) is the name of this arrangement.",
  ],
};

function queues(queue: string): string {
  const flow = (name: string) => `\n[flow.${name}]\ncontrol = "${name}"\npath    = ["bottleneck"]\nback    = ["back"]\n`;
  const link = `[link.bottleneck]\nrate  = "50Mbit"\ndelay = "10ms"\nqueue = ${queue}\n\n[link.back]\ndelay = "10ms"\n`;
  return `title    = "Prague and CUBIC over one link"\nduration = "20s"\nhost     = { ecn = true }\n\n${link}${flow("prague")}${flow("cubic")}`;
}

const call: Story = {
  key: "call",
  title: "A call beside an upload",
  part: "all",
  text: [
    "A telephone call needs 64 kbit/s, 0.6 % of an uplink of 10 Mbit/s. After 10 s a backup begins to upload on the same link, with [control]. The modem has a buffer of [buffer].",
    "The packets of the call wait behind those of the backup. They take {delay} one way at the 99th percentile, and 10 ms alone. Above 150 ms people begin to talk into each other's words (ITU-T G.114).",
  ],
  controls: {
    control: { kind: "choice", options: [["cubic", "CUBIC"], ["bbr", "BBR"], ["ledbat++", "LEDBAT++"]], label: "Controller of the backup" },
    buffer: { kind: "slider", min: 10, max: 600, step: 10, unit: "ms", label: "Buffer" },
  },
  start: { control: "cubic", buffer: 200 },
  scenario: (values) => callOf(values),
  figures: (_, experiment) => {
    const voice = experiment.summaries()[0]?.flows.find(({ name }) => name === "voice");
    return { delay: brief(voice?.media?.frame_delay_p99_s ?? 0) };
  },
  question: "The backup must use CUBIC, and the modem has 200 ms. Which change lowers the delay of the call most?",
  asked: { control: "cubic", buffer: 200 },
  options: [
    { text: "A faster link of 10 times the rate", values: { rate: 100 }, answer: "The picture shows 100 Mbit/s: the backup fills that buffer too, and the call waits as long." },
    { text: "fq_codel in the modem", values: { queue: "fq_codel" }, answer: "The picture shows it: the call has a queue of its own." },
    { text: "A buffer of 20 ms", values: { buffer: 20 }, answer: "It helps much, as the picture shows, but the call still stands in the queue of the backup, and waits up to 20 ms." },
  ],
  right: 1,
  explanation: ["The delay comes from the queue, not from a lack of rate. A queue that serves flows in turn, or a controller that keeps the queue short, removes it. Routers of your own can shape the uplink to a little below the modem's rate, so that the queue forms where you control it: the scenario `shaper`."],
};

function callOf({ control, buffer, queue = "droptail", rate = 10 }: Values): string {
  const host = String(control).startsWith("ledbat") ? "\nhost    = { receive_times = true }" : "";
  return `title    = "A telephone call beside an upload"
duration = "30s"

[link.up]
rate   = "${rate}Mbit"
delay  = "10ms"
buffer = "${buffer}ms"
queue  = "${queue}"

[link.down]
rate  = "50Mbit"
delay = "10ms"

[flow.voice]
control = "none"
path    = ["up"]
source  = { kind = "media", min_rate = "64kbit", frame_rate = 50, variation = 0, packet = "172B" }

[flow.backup]
control = "${control}"
path    = ["up"]
back    = ["down"]
start   = "10s"${host}
`;
}

const lola: Story = {
  key: "lola",
  title: "LoLa's fair balancing",
  lead: "rate",
  part: "all",
  text: [
    "Two uploads share a FIFO of 100 Mbit/s with a deep buffer. One has a round trip of 21 ms, the other of [far]; the second starts ten seconds later.",
    "CUBIC fills the buffer, so every packet waits for up to 300 ms, and the late flow has {cubic}.",
    "LoLa (Low Latency) reduces its window when the queueing delay exceeds 5 ms, which each sender computes from its round-trip times. While the queue is short, fair flow balancing lets every flow keep the same amount of data in the queue, whichever its round trip. Flows with little data there then grow more than others. The late flow has {lola}.",
  ],
  controls: { far: { kind: "slider", min: 21, max: 201, step: 10, unit: "ms", label: "Round trip of the second flow" } },
  start: { far: 101 },
  scenario: ({ far, begin = 10 }) =>
    shipped("lola.toml").replace('delay = "96ms"', `delay = "${Number(far) - 5}ms"`).replace('start = "10s"', `start = "${begin}s"`),
  figures: (_, experiment) => ({ cubic: goodputOf(experiment, "cubic", "far"), lola: goodputOf(experiment, "lola", "far") }),
  question: "Each LoLa flow aims at the same amount of data in a FIFO. Which rates follow from this?",
  asked: { far: 21 },
  options: [
    { text: "They approach each other, as each flow's share of the queue is its share of the link", values: { begin: 0 }, answer: "The picture shows two flows of equal round trips that start together: LoLa's rates are equal, and CUBIC's differ." },
    { text: "The longer round trip gets more", values: { far: 201 }, answer: "The picture shows 201 ms: the far flow has less, since it responds later." },
    { text: "The rates keep their first ratio", answer: "In the picture the second flow starts from nothing, and the rates of `lola` meet." },
  ],
  right: 0,
  explanation: [
    "Packets leave a FIFO in the order of arrival, so the share of a flow in the queue is its share of the link. Equal data in the queue means equal rates. With round trips of 21 and 101 ms a difference remains: each flow responds in its own round trip.",
  ],
};

const rapid: Story = {
  key: "rapid",
  title: "Rapid and bursts",
  part: "all",
  text: [
    "Bursts of other traffic take half of a link of 1 Gbit/s for 100 ms, and pause for 350 ms. A bulk flow should take the rest, at all times.",
    "CUBIC cannot follow within a burst. It fills the buffer of 125 ms instead, and loses packets.",
    "Rapid sends its packets in groups, called chirps. The gaps within a chirp shrink from packet to packet, so that each chirp tests a range of rates. The receiver notes when each packet arrives. From the rate on that exceeds what the others left, the packets arrive with larger gaps than they were sent with: this rate is the estimate. `tau`, here [tau], is the time in which Rapid's rate rises to a greater estimate.",
  ],
  controls: { tau: { kind: "slider", min: 100, max: 600, step: 50, unit: "ms", label: "tau" } },
  start: { tau: 150 },
  scenario: ({ tau }) => shipped("rapid-bursts.toml").replaceAll('tau = "150ms"', `tau = "${tau}ms"`),
  question: "Which is the effect of a tau of 400 ms?",
  asked: { tau: 400 },
  options: [
    { text: "It uses less of the pauses, since its rate is still rising when the next burst begins", answer: "The picture shows it: Rapid's goodput stays lower, and its queue shorter." },
    { text: "The queue grows, since its rate is too high for longer", answer: "The picture shows the contrary: a burst meets a lower rate." },
    { text: "None, since each chirp measures the same rate", answer: "The estimate is the same, but in the picture the goodput follows it later." },
  ],
  right: 0,
  explanation: [
    "The rate covers 63 % of the way to the estimate in one tau, and a pause lasts 350 ms. The second Rapid in these charts receives the true remaining capacity as a signal.",
  ],
};

export const STORIES: Story[] = [bound, bufferbloat, buffers, bbr, ecn, l4s, call, lola, rapid];
