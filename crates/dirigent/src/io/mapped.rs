//! Mapping a file: one of the two modules that may use `unsafe`.
//!
//! The operating system offers no safe way to map a file: another process may change or cut it while it is mapped. We
//! only read, we map files of plain numbers (every bit pattern is a number, so a change can never break memory safety
//! beyond what it does to the numbers), and docs tell users not to cut a file that is being fitted.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;

use memmap2::Mmap;

/// Numbers of type `T` inside a mapped file.
#[derive(Debug)]
pub struct MappedNumbers<T> {
    map: Mmap,
    bytes: Range<usize>,
    numbers: PhantomData<T>,
}

impl<T: bytemuck::Pod> MappedNumbers<T> {
    /// Maps a file and views `bytes` of it as numbers. `None` if they are not aligned, not whole, or beyond the file's end.
    pub fn new(file: &File, bytes: Range<usize>) -> io::Result<Option<Self>> {
        // SAFETY: the map is only read, and only as plain numbers; see the head of this module.
        let map = unsafe { Mmap::map(file) }?;
        let fits = map.get(bytes.clone()).is_some_and(|cells| bytemuck::try_cast_slice::<u8, T>(cells).is_ok());
        Ok(fits.then_some(Self { map, bytes, numbers: PhantomData }))
    }

    /// The numbers.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[self.bytes.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn views_whole_aligned_numbers_and_nothing_else() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&1.5f64.to_ne_bytes()).unwrap();
        file.write_all(&[0; 8]).unwrap();
        assert_eq!(MappedNumbers::<f64>::new(&file, 0..16).unwrap().unwrap().as_slice(), [1.5, 0.0]);
        assert!(MappedNumbers::<f64>::new(&file, 4..12).unwrap().is_none(), "not aligned");
        assert!(MappedNumbers::<f64>::new(&file, 0..12).unwrap().is_none(), "not whole");
        assert!(MappedNumbers::<f64>::new(&file, 8..24).unwrap().is_none(), "beyond the end");
    }
}
