//! zstd (RFC 8878), unpacked frame by frame.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Windows of up to 128 MiB, as zstd's own program accepts; `zstd --long=31` makes greater ones.
const MAX_WINDOW: u64 = 1 << 27;

/// The error of a frame whose window is above [`MAX_WINDOW`].
#[derive(Debug)]
pub(super) struct WindowTooLarge;

impl fmt::Display for WindowTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the window is above 128 MiB")
    }
}

impl Error for WindowTooLarge {}

/// The content of a file of any number of frames. The decoder of a library unpacks one of them.
pub(super) struct Frames<R: Read> {
    from: BufReader<R>,
    decoder: FrameDecoder,
    /// Whether the decoder has begun a frame whose content is not read yet.
    is_within: bool,
    /// Bytes read of this frame's content.
    read: u64,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(from: R) -> Frames<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Frames { from: BufReader::new(from), decoder, is_within: false, read: 0 }
    }

    pub(super) fn get_ref(&self) -> &R {
        self.from.get_ref()
    }

    /// Begins the next frame; `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.from.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.from) {
                Ok(()) => {
                    (self.is_within, self.read) = (true, 0);
                    return Ok(true);
                }
                // RFC 8878 section 3.1.2.
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => skip(&mut self.from, length.into())?,
                Err(error) => return Err(fault(error)),
            }
        }
        Ok(false)
    }

    /// Ends a frame, all of whose content is read.
    fn end(&mut self) -> io::Result<()> {
        self.is_within = false;
        // RFC 8878 section 3.1.1.1.1: 0 is an unknown size here, as the decoder gives it.
        let declared = self.decoder.content_size();
        if declared != 0 && declared != self.read {
            let fault = format!("a frame of {declared} bytes has {}", self.read);
            return Err(io::Error::new(ErrorKind::InvalidData, fault));
        }
        let (written, found) =
            (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if written.is_some() && written != found {
            return Err(io::Error::new(ErrorKind::InvalidData, "their checksum does not match"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_within && self.decoder.can_collect() > 0 {
                let read = self.decoder.read(into)?;
                self.read += read as u64;
                return Ok(read);
            }
            if self.is_within && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.from, one).map_err(fault)?;
            } else if self.is_within {
                self.end()?;
            } else if !self.begin()? {
                return Ok(0);
            }
        }
    }
}

fn skip(from: &mut impl Read, length: u64) -> io::Result<()> {
    match io::copy(&mut from.take(length), &mut io::sink())? {
        skipped if skipped == length => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// The decoder's error; that of the file below it, if there is one.
fn fault(error: FrameDecoderError) -> io::Error {
    if matches!(error, FrameDecoderError::WindowSizeTooBig { .. }) {
        return io::Error::new(ErrorKind::InvalidData, WindowTooLarge);
    }
    let mut inner: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(one) = inner {
        if let Some(of_file) = one.downcast_ref::<io::Error>() {
            return io::Error::new(of_file.kind(), of_file.to_string());
        }
        inner = one.source();
    }
    io::Error::new(ErrorKind::InvalidData, error.to_string())
}
