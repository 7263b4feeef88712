//! The bodies that a server sends: generated ones, and files of a folder.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use sojourn_units::Bytes as Size;

/// Bytes that are read from a file at once.
const CHUNK: usize = 64 << 10;
static ZEROS: [u8; CHUNK] = [0; CHUNK];
/// Greatest generated body.
const GREATEST: u64 = 1 << 40;

/// The shared resources of a server's connections: memory for data of files that the peers have not
/// acknowledged, and open files.
///
/// One connection may use as much as is free: the dynamic thresholds of Choudhury and Hahne
/// ("Dynamic queue length thresholds for shared-memory packet switches", 1998). A part stays free,
/// so that connections that do not read never starve the others.
#[derive(Clone, Debug)]
pub struct Pool {
    used: Arc<AtomicU64>,
    most: u64,
    files: Arc<AtomicU64>,
    most_files: u64,
}

impl Pool {
    /// A pool of `most` bytes and open files. Each connection may use one chunk of 64 KiB beyond it.
    pub fn new(most: Size, files: u32) -> Pool {
        let most_files = u64::from(files);
        Pool { used: Arc::default(), most: most.0, files: Arc::default(), most_files }
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Open files.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// A share of one connection.
    pub(super) fn share(&self) -> Share {
        Share { pool: self.clone(), own: Arc::default(), own_files: Arc::default() }
    }
}

/// The use of one connection.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pool: Pool,
    own: Arc<AtomicU64>,
    own_files: Arc<AtomicU64>,
}

/// The permission to have one file open, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot(Share);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.own_files.fetch_sub(1, Ordering::Relaxed);
        self.0.pool.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Share {
    /// A connection without data in flight may always read: its acknowledgements wake the others.
    fn has_room(&self) -> bool {
        let own = self.own.load(Ordering::Relaxed);
        own == 0 || own + CHUNK as u64 <= self.pool.most.saturating_sub(self.pool.used())
    }

    /// A slot for one more file. A client that grants no stream credit keeps its files open, up to
    /// half of the bound.
    fn slot(&self) -> Option<Slot> {
        let free = self.pool.most_files.saturating_sub(self.pool.files());
        let own = self.own_files.load(Ordering::Relaxed);
        if free == 0 || (own > 0 && own >= free) {
            return None;
        }
        self.own_files.fetch_add(1, Ordering::Relaxed);
        self.pool.files.fetch_add(1, Ordering::Relaxed);
        Some(Slot(self.clone()))
    }

    fn hold(&self, data: Vec<u8>) -> Bytes {
        let len = data.len() as u64;
        self.own.fetch_add(len, Ordering::Relaxed);
        self.pool.used.fetch_add(len, Ordering::Relaxed);
        Bytes::from_owner(Held { data, share: self.clone() })
    }
}

/// A chunk of a file, which frees its memory when the stack drops it.
struct Held {
    data: Vec<u8>,
    share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let len = self.data.len() as u64;
        self.share.own.fetch_sub(len, Ordering::Relaxed);
        self.share.pool.used.fetch_sub(len, Ordering::Relaxed);
    }
}

/// A file that is open, and its slot.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    _slot: Slot,
}

/// The body of a response.
#[derive(Debug)]
pub(super) enum Body {
    /// A number of zero bytes.
    Zeros(u64),
    /// A file, and its bytes that are still to be read.
    File(OpenFile, u64),
    /// A text.
    Text(Bytes),
}

/// The next piece of a body.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Bytes),
    End,
    /// The pool has no memory at present.
    Wait,
}

impl Body {
    pub(super) fn len(&self) -> u64 {
        match self {
            Body::Zeros(len) | Body::File(_, len) => *len,
            Body::Text(text) => text.len() as u64,
        }
    }

    /// The next piece.
    pub(super) fn next(&mut self, share: &Share) -> io::Result<Piece> {
        if self.len() == 0 {
            return Ok(Piece::End);
        }
        let size = self.len().min(CHUNK as u64);
        match self {
            Body::Zeros(left) => {
                *left -= size;
                Ok(Piece::Bytes(Bytes::from_static(&ZEROS[..size as usize])))
            }
            Body::Text(text) => Ok(Piece::Bytes(std::mem::take(text))),
            Body::File(..) if !share.has_room() => Ok(Piece::Wait),
            Body::File(open, left) => {
                let mut data = vec![0; size as usize];
                open.file.read_exact(&mut data)?;
                *left -= size;
                Ok(Piece::Bytes(share.hold(data)))
            }
        }
    }
}

/// A folder whose files are served.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Folder(open(path, flags, Mode::empty())?))
    }

    /// Opens the file at a path below the folder. Each step opens a name in the folder before it,
    /// without following symbolic links, so that no path leads out.
    fn file(&self, path: &[Vec<u8>]) -> nix::Result<Option<(File, u64)>> {
        let (last, folders) = path.split_last().ok_or(Errno::ENOENT)?;
        let into = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut folder = None;
        for name in folders {
            let above = folder.as_ref().unwrap_or(&self.0);
            folder = Some(openat(above, &name[..], into, Mode::empty())?);
        }
        // A pipe without writer would block.
        let read = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let above = folder.as_ref().unwrap_or(&self.0);
        let file = File::from(openat(above, &last[..], read, Mode::empty())?);
        let about = file.metadata().map_err(|_| Errno::EIO)?;
        Ok(about.is_file().then_some((file, about.len())))
    }
}

/// The bodies of a server by path.
#[derive(Clone, Debug, Default)]
pub struct Content {
    folder: Option<Arc<Folder>>,
}

impl Content {
    /// `/bytes/N` has N zero bytes (such as `1000000` or `1MB`); other paths are files of the
    /// folder, if there is one.
    pub fn new(folder: Option<Folder>) -> Content {
        Content { folder: folder.map(Arc::new) }
    }

    /// The status and the body of a path, for the connection with this share.
    pub(super) fn find(&self, path: &[u8], share: &Share) -> (&'static str, Body) {
        let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
        if let Some(size) = path.strip_prefix(b"/bytes/") {
            return match size_of(size) {
                Some(size) => ("200", Body::Zeros(size)),
                None => {
                    ("400", text("a size such as /bytes/1000000 or /bytes/1MB, of 1 TB at most\n"))
                }
            };
        }
        let (Some(names), Some(folder)) = (names(path), &self.folder) else { return missing() };
        let Some(slot) = share.slot() else { return busy() };
        match folder.file(&names) {
            Ok(Some((file, len))) => ("200", Body::File(OpenFile { file, _slot: slot }, len)),
            Ok(None) => missing(),
            Err(errno) => refusal(errno),
        }
    }
}

fn missing() -> (&'static str, Body) {
    ("404", text("no such file; /bytes/1000000 has a generated body\n"))
}

fn busy() -> (&'static str, Body) {
    ("503", text("too many files are open at present; try again later\n"))
}

/// The response to a file that cannot be opened. Only errors that its path causes mean that there
/// is none; the others are the server's.
fn refusal(errno: Errno) -> (&'static str, Body) {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EACCES | Errno::ENAMETOOLONG => {
            missing()
        }
        Errno::EMFILE | Errno::ENFILE => busy(),
        _ => ("500", text("the file cannot be read\n")),
    }
}

pub(super) fn text(text: &'static str) -> Body {
    Body::Text(Bytes::from_static(text.as_bytes()))
}

fn size_of(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let size = text.parse().ok().or_else(|| text.parse::<Size>().ok().map(|size| size.0))?;
    (size <= GREATEST).then_some(size)
}

/// The names in a path, with its escapes decoded. `None` if the path cannot name a file.
fn names(path: &[u8]) -> Option<Vec<Vec<u8>>> {
    let path = path.strip_prefix(b"/")?;
    path.split(|byte| *byte == b'/').map(name).collect()
}

fn name(escaped: &[u8]) -> Option<Vec<u8>> {
    let (mut name, mut rest) = (Vec::with_capacity(escaped.len()), escaped);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        name.push(if *byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            rest = &rest[2..];
            u8::from_str_radix(digits, 16).ok()?
        } else {
            *byte
        });
    }
    let is_name = !name.is_empty() && name != b"." && name != b"..";
    (is_name && !name.iter().any(|byte| [0, b'/'].contains(byte))).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (std::path::PathBuf, Content) {
        let name =
            format!("sojourn-content-{}-{:?}", std::process::id(), std::thread::current().id());
        let base = std::env::temp_dir().join(name);
        let root = base.join("root");
        std::fs::create_dir_all(root.join("sub")).expect("made");
        std::fs::write(base.join("secret"), "secret").expect("written");
        std::fs::write(root.join("a b"), "file").expect("written");
        std::fs::write(root.join("sub/deep"), "deep").expect("written");
        symlink(base.join("secret"), root.join("link")).expect("linked");
        symlink(&base, root.join("up")).expect("linked");
        let content = Content::new(Some(Folder::open(&root).expect("opens")));
        (base, content)
    }

    #[test]
    fn files_below_the_folder_are_found_and_no_others() {
        let (base, content) = folder();
        let share = Pool::new(Size(0), 8).share();
        let status = |path: &str| content.find(path.as_bytes(), &share).0;
        for good in ["/a%20b", "/sub/deep", "/sub/deep?query=/../x", "/bytes/0", "/bytes/1MB"] {
            assert_eq!(status(good), "200", "{good}");
        }
        for bad in [
            "/../secret",
            "/%2e%2e/secret",
            "/sub/../../secret",
            "/sub/%2e%2e%2f%2e%2e%2fsecret",
            "/link",
            "/up/secret",
            "/sub",
            "/",
            "//etc/passwd",
            "/etc/passwd",
            "/a%00b",
            "/a%2",
            "",
            "secret",
            "/sub/deep/",
            "/.",
        ] {
            assert_eq!(status(bad), "404", "{bad}");
        }
        assert_eq!(status("/bytes/many"), "400");
        assert_eq!(status("/bytes/2000000000000"), "400");
        std::fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn a_connection_reads_one_chunk_beyond_the_pool() {
        let (base, content) = folder();
        let path = base.join("root/large");
        std::fs::write(&path, vec![1; 3 * CHUNK]).expect("written");
        let pool = Pool::new(Size(CHUNK as u64), 8);
        let (one, other) = (pool.share(), pool.share());
        let (_, mut body) = content.find(b"/large", &one);
        let piece = |body: &mut Body, share| body.next(share).expect("reads");
        let first = piece(&mut body, &one);
        assert!(matches!(first, Piece::Bytes(_)));
        assert!(matches!(piece(&mut body, &one), Piece::Wait));
        let second = piece(&mut body, &other);
        assert!(matches!(second, Piece::Bytes(_)));
        drop(first);
        drop(second);
        assert_eq!(pool.used(), 0);
        assert!(matches!(piece(&mut body, &one), Piece::Bytes(_)));
        std::fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn connections_that_do_not_read_leave_memory_to_the_others() {
        let (base, content) = folder();
        let path = base.join("root/large");
        std::fs::write(&path, vec![1; 20 * CHUNK]).expect("written");
        let pool = Pool::new(Size(16 * CHUNK as u64), 8);
        let mut held = Vec::new();
        let mut chunks = || {
            let share = pool.share();
            let (_, mut body) = content.find(b"/large", &share);
            let mut count = 0;
            while let Piece::Bytes(bytes) = body.next(&share).expect("reads") {
                held.push(bytes);
                count += 1;
            }
            count
        };
        assert_eq!([chunks(), chunks(), chunks()], [8, 4, 2]);
        drop(held);
        assert_eq!(pool.used(), 0);
        std::fs::remove_dir_all(base).expect("removed");
    }

    /// Such as those of clients that grant no stream credit.
    #[test]
    fn open_files_are_bounded_for_each_connection_and_for_all() {
        let (base, content) = folder();
        let pool = Pool::new(Size(0), 8);
        let mut open = Vec::new();
        for expected in [4, 2, 1, 1, 0] {
            let share = pool.share();
            let bodies = std::iter::repeat_with(|| content.find(b"/sub/deep", &share));
            let bodies: Vec<_> = bodies.take_while(|(status, _)| *status == "200").collect();
            assert_eq!(bodies.len(), expected);
            open.extend(bodies);
        }
        let share = pool.share();
        assert_eq!((pool.files(), content.find(b"/sub/deep", &share).0), (8, "503"));
        assert_eq!(content.find(b"/bytes/1", &share).0, "200", "it needs no file");
        open.clear();
        assert_eq!(content.find(b"/none", &share).0, "404");
        assert_eq!((pool.files(), content.find(b"/sub/deep", &share).0), (0, "200"));
        std::fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn faults_of_the_server_are_no_missing_files() {
        for (errno, status) in [
            (Errno::ENOENT, "404"),
            (Errno::ELOOP, "404"),
            (Errno::EMFILE, "503"),
            (Errno::ENFILE, "503"),
            (Errno::EIO, "500"),
        ] {
            assert_eq!(refusal(errno).0, status, "{errno}");
        }
    }
}
