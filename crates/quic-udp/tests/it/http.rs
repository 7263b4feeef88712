//! Downloads by the client from the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sojourn_quic_udp::h3::Folder;
use sojourn_quic_udp::tls::{Identity, Trust};
use sojourn_quic_udp::{
    Ending, Error, Fetch, HttpServer, Limits, Observation, Observer, Passing, Progress, Serve,
    ServeObserver, SharedObserver,
};
use sojourn_transport::StackEvent;
use sojourn_udp::io::StopHandle;
use sojourn_units::{Duration, Instant};

use crate::common::{Running, fetch, get, serve, settings};

const IDLE: Duration = Duration::from_secs(30);

/// A folder of this test, removed at its end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("made");
        Temporary(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("written");
        path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn bodies_arrive_whole_and_in_sequence() {
    let server = Running::start(serve(None, Limits::default(), IDLE));
    let done = get(fetch(server.address, "/bytes/300000", 4)).expect("downloads");
    let bytes: Vec<_> = done.responses.iter().map(|one| (one.status, one.bytes)).collect();
    assert_eq!(bytes, [(200, 300_000); 4]);
    assert!(done.responses.iter().all(|one| !one.is_cut && one.length == Some(300_000)));
    let times = done.responses.windows(2).all(|pair| pair[0].ended_at <= pair[1].asked_at);
    assert!(times && done.connected_at <= done.responses[0].asked_at);
    assert!(done.figures.received.ect1 > 900, "Prague sends ECT(1): {:?}", done.figures.received);
    let (figures, served) = server.next();
    assert_eq!((served.requests, served.body_bytes), (4, 1_200_000));
    assert_eq!((figures.ending, figures.state.lost), (Ending::Closed, 0));
    assert_eq!(figures.sent.ect0, 0);
    // On a busy machine, one acknowledgement covers many packets.
    assert!(figures.rtts.count() > 10, "{} samples", figures.rtts.count());
}

#[test]
fn a_file_arrives_as_it_is_and_other_paths_have_their_status() {
    let folder = Temporary::new("files");
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| ((i * 31) >> 3) as u8).collect();
    folder.file("large", &content);
    let root = Folder::open(&folder.0).expect("opens");
    let server = Running::start(serve(Some(root), Limits::default(), IDLE));
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let sink = move |bytes: &[u8]| {
        kept.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(())
    };
    fetch(server.address, "/large", 1).run(Box::new(sink), &StopHandle::default()).expect("loads");
    assert!(*bodies.lock().expect("not poisoned") == content);
    for (path, status) in [("/none", 404), ("/../large", 404), ("/bytes/x", 400), ("/", 404)] {
        let done = get(fetch(server.address, path, 1)).expect("answers");
        assert_eq!(done.responses[0].status, status, "{path}");
    }
}

/// Counts what an endpoint shows.
#[derive(Default)]
struct Shown {
    sent: u64,
    received: u64,
    packets: u64,
    open: i32,
}

impl Observer for Shown {
    fn follows_connections(&self) -> bool {
        true
    }

    fn opened(&mut self, _: Instant, _: u64, _: [SocketAddr; 2]) {
        self.open += 1;
    }

    fn event(&mut self, _: Instant, _: u64, event: &StackEvent) {
        self.packets += u64::from(matches!(event, StackEvent::Packet { is_sent: false, .. }));
    }

    fn datagram(&mut self, passing: &Passing<'_>) {
        *if passing.is_sent { &mut self.sent } else { &mut self.received } += 1;
    }
}

#[test]
fn an_observer_sees_each_datagram_and_each_packet() {
    let server = Running::start(serve(None, Limits::default(), IDLE));
    let shown = Arc::new(Mutex::new(Shown::default()));
    let observer: SharedObserver = shown.clone();
    let observation = Observation { observer: Some(observer), secrets: None };
    let progress = Progress::default();
    let one = fetch(server.address, "/bytes/300000", 2);
    let done = get(Fetch { observation, progress: progress.clone(), ..one }).expect("downloads");
    let shown = shown.lock().expect("not poisoned");
    let (sent, received) = (done.figures.sent.total(), done.figures.received.total());
    assert_eq!(shown.received, received);
    // The datagram that closes the connection leaves after its figures are complete.
    assert!((sent..=sent + 1).contains(&shown.sent), "{} of {sent}", shown.sent);
    // The first datagrams have packets of several types.
    assert!((received..received + 5).contains(&shown.packets), "{}", shown.packets);
    assert_eq!(shown.open, 1);
    let (bytes, total) = progress.bytes();
    assert!(bytes <= 600_000 && total.is_none_or(|total| total == 600_000), "{bytes} of {total:?}");
}

#[test]
fn a_sink_that_fails_ends_the_download() {
    let server = Running::start(serve(None, Limits::default(), IDLE));
    let sink = |_: &[u8]| Err(std::io::Error::other("full"));
    let done = fetch(server.address, "/bytes/1MB", 1).run(Box::new(sink), &StopHandle::default());
    assert!(matches!(done, Err(Error::Sink(_))), "{done:?}");
}

#[test]
fn only_a_trusted_certificate_is_accepted() {
    let folder = Temporary::new("trust");
    let serve = serve(None, Limits::default(), IDLE);
    let own = folder.file("own.pem", serve.identity.pem.as_deref().expect("made").as_bytes());
    let other = Identity::made("127.0.0.1".parse().expect("an address")).expect("made");
    let other = folder.file("other.pem", other.pem.as_deref().expect("made").as_bytes());
    let server = Running::start(serve);
    let with = |file| {
        let trust = Trust::File(file);
        get(Fetch { trust, ..fetch(server.address, "/bytes/1", 1) })
    };
    assert_eq!(with(own).expect("trusted").responses[0].bytes, 1);
    let error = with(other).expect_err("another certificate").to_string();
    assert!(error.contains("--ca FILE") && !error.contains('\n'), "{error}");
}

#[test]
fn unusable_certificates_are_named_with_the_remedy() {
    let folder = Temporary::new("certificates");
    let made = |name: &str| {
        let one = rcgen::generate_simple_self_signed([name.to_owned()]).expect("made");
        (one.cert.pem(), one.signing_key.serialize_pem())
    };
    let (one, other) = (made("one"), made("other"));
    let certificate = folder.file("cert.pem", one.0.as_bytes());
    let key = folder.file("key.pem", one.1.as_bytes());
    let wrong = folder.file("wrong.pem", other.1.as_bytes());
    let text = folder.file("text.pem", b"none");
    assert!(Identity::read(&certificate, &key).is_ok());
    let missing = folder.0.join("missing");
    for (certificate, key, words) in [
        (&certificate, &wrong, "give the key of this certificate"),
        (&text, &key, "does not contain a certificate"),
        (&certificate, &text, "does not contain a private key"),
        (&missing, &key, "No such file"),
    ] {
        let error = Identity::read(certificate, key).expect_err("unusable").to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
}

struct Ignore;

impl ServeObserver for Ignore {
    fn ended(&mut self, _: &sojourn_quic_udp::Figures, _: sojourn_quic_udp::h3::Served) {}
}

#[test]
fn a_port_in_use_and_a_silent_server_are_named_with_the_remedy() {
    let server = Running::start(serve(None, Limits::default(), IDLE));
    let taken = Serve { address: server.address, ..serve(None, Limits::default(), IDLE) };
    let error = HttpServer::bind(taken, Ignore).expect_err("in use").to_string();
    assert!(error.contains("choose another port") && !error.contains('\n'), "{error}");

    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("binds");
    let address = silent.local_addr().expect("bound");
    let patience = Duration::from_millis(300);
    let error = get(Fetch { patience, ..fetch(address, "/", 1) }).expect_err("silent").to_string();
    assert!(error.contains("did not answer within 300ms"), "{error}");
    drop(silent);
    let error = get(fetch(address, "/", 1)).expect_err("closed").to_string();
    assert!(error.contains("is not reachable"), "{error}");
}

#[test]
fn every_controller_that_the_stack_serves_downloads() {
    let catalogue = sojourn_cc::Catalogue::shipped();
    let served = catalogue.infos().filter(|info| {
        let needs = info.needs;
        !needs.signal && !needs.receive_times && !needs.media
    });
    for name in served.map(|info| info.name) {
        let mut serve = serve(None, Limits::default(), IDLE);
        serve.settings = settings(name);
        let server = Running::start(serve);
        let done = get(fetch(server.address, "/bytes/100000", 1)).expect("downloads");
        assert_eq!(done.responses[0].bytes, 100_000, "{name}");
    }
}
