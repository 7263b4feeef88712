//! The scenarios whose calls are recorded.

/// A flow over the bottleneck: its name, the delay of its way back, and more keys of its table.
type Flow<'a> = (&'a str, &'a str, &'a str);

fn document(seconds: u32, bottleneck: &str, flows: &[Flow<'_>]) -> String {
    let mut text =
        format!("duration = \"{seconds}s\"\nhost = \"rfc\"\n[link.bottleneck]\n{bottleneck}\n");
    for (name, delay, more) in flows {
        text += &format!(
            "[link.back_{name}]\ndelay = \"{delay}\"\n\
             [flow.{name}]\npath = [\"bottleneck\"]\nback = [\"back_{name}\"]\n{more}\n"
        );
    }
    text
}

/// Two flows with different round-trip times: every phase, many rounds.
pub(crate) fn rounds(seconds: u32, control: &str) -> String {
    let flows = [
        ("first", "5ms", format!("control = {control}")),
        ("second", "45ms", format!("control = {control}\nstart = \"2s\"")),
    ];
    let flows = flows.each_ref().map(|(name, delay, more)| (*name, *delay, more.as_str()));
    document(seconds, "rate = \"100Mbit\"\ndelay = \"5ms\"\nbuffer = \"1MB\"", &flows)
}

/// Losses, timeouts, spurious retransmissions and idle periods.
pub(crate) fn trouble(seconds: u32, control: &str) -> String {
    let source = "source = { kind = \"on-off\", rate = \"4Mbit\", on = \"1s\", off = \"3s\" }";
    let (bulk, bursts) = (format!("control = {control}"), format!("control = {control}\n{source}"));
    document(
        seconds,
        "rate = \"10Mbit\"\ndelay = \"10ms\"\nbuffer = \"20kB\"\nloss = 0.02",
        &[
            ("bulk", "10ms", &bulk),
            ("bursts", "10ms", &bursts),
            ("other", "10ms", "control = \"cubic\""),
        ],
    )
}

/// Marks by a step, losses, an outage and a second flow.
pub(crate) fn marks(seconds: u32, control: &str) -> String {
    let bottleneck = "rate = { start = \"100Mbit\", steps = [\n\
         { at = \"3s\", rate = \"30Mbit\" },\n\
         { at = \"5s\", rate = \"0Mbit\" },\n\
         { at = \"7s\", rate = \"100Mbit\" },\n\
         ] }\ndelay = \"5ms\"\nbuffer = \"100kB\"\n\
         queue = { kind = \"step\", k = 20 }\nloss = 0.0001";
    let source = "source = { kind = \"on-off\", rate = \"40Mbit\", on = \"2s\", off = \"1s\" }";
    let second = format!("control = {control}\nstart = \"2s\"\n{source}");
    let first = format!("control = {control}");
    document(seconds, bottleneck, &[("first", "5ms", &first), ("second", "5ms", &second)])
}
