//! Codecs: what each is called, which levels it has, and how it is made.
//!
//! In: the name of a codec and a level. Out: a [`Codec`] that compresses streams and single blocks.
//! Limits: one thread each; no dictionary, and no checksum that the format does not demand. The speed is that of the crate.

#[cfg(feature = "brotli")]
mod brotli;
mod codec;
mod gzip;
mod lz4;
mod lzjb;
mod lzo;
mod none;
mod records;
mod snappy;
#[cfg(test)]
mod testing;
mod zstd;

pub use codec::{Codec, CodecDef};

use model::LeveledWord;

/// All codecs, from fast to thorough. A new one is one file and one line here.
pub const CODECS: &[&CodecDef] = &[
    &none::NONE,
    &lz4::LZ4,
    &snappy::SNAPPY,
    &lzjb::LZJB,
    &lzo::LZO,
    &zstd::ZSTD,
    &gzip::GZIP,
    #[cfg(feature = "brotli")]
    &brotli::BROTLI,
];

/// What a plan may write for a codec, in the order of [`CODECS`].
pub const CODEC_WORDS: [LeveledWord; CODECS.len()] = codec_words();

const fn codec_words() -> [LeveledWord; CODECS.len()] {
    let mut words = [none::NONE.word; CODECS.len()];
    let mut nth = 0;
    while nth < CODECS.len() {
        words[nth] = CODECS[nth].word;
        nth += 1;
    }
    words
}

/// The codec of `words`, such as `zstd:3`; `None` if there is no such codec or level.
pub fn find(words: &str) -> Option<(&'static CodecDef, i32)> {
    CODECS.iter().find_map(|def| Some((*def, def.word.level_of(words)?)))
}

#[cfg(test)]
mod tests {
    use super::testing::{round_trip, samples};
    use super::*;

    #[test]
    fn every_codec_brings_back_at_every_level_what_went_in() {
        for def in CODECS {
            for words in def.word.all() {
                let (found, level) = find(&words).expect("a codec finds its own words");
                assert_eq!(found.word.name, def.word.name, "{words}");
                let mut codec = (def.make)(level).expect("the library takes the levels that are declared");
                samples().iter().for_each(|sample| round_trip(&mut *codec, sample, &words));
            }
        }
    }

    #[test]
    fn every_codec_but_none_makes_pages_with_repeats_smaller() {
        let page = samples().into_iter().max_by_key(Vec::len).expect("there are samples");
        for def in CODECS.iter().filter(|def| def.word.name != "none") {
            let words = def.word.all().next_back().expect("a level");
            let mut codec = (def.make)(find(&words).expect("its own words").1).unwrap();
            let (mut block, mut stream) = (Vec::new(), Vec::new());
            codec.compress_block(&page, &mut block).unwrap();
            codec.compress_stream(&mut &page[..], page.len() as u64, &mut stream).unwrap();
            assert!(block.len() * 2 < page.len() && stream.len() * 2 < page.len(), "{words}");
        }
    }

    #[test]
    fn damage_is_an_error_or_other_bytes_and_never_a_crash() {
        let page = samples().into_iter().max_by_key(Vec::len).expect("there are samples");
        for def in CODECS {
            let words = def.word.all().next().expect("a level");
            let mut codec = (def.make)(find(&words).expect("its own words").1).unwrap();
            let (mut packed, mut back) = (Vec::new(), vec![0; page.len()]);
            codec.compress_block(&page, &mut packed).unwrap();
            for at in (0..packed.len()).step_by(97) {
                let mut broken = packed.clone();
                broken[at] ^= 0x55;
                let _ = codec.decompress_block(&broken, &mut back);
                let _ = codec.decompress_block(&packed[..at], &mut back);
            }
            assert!(codec.decompress_block(&packed[..packed.len() / 2], &mut back).is_err(), "{words}");
        }
    }

    #[test]
    fn words_that_name_no_codec_or_level_find_none() {
        for words in
            ["", "zstd", "zstd:20", "zstd:0", "zstd:-6", "gzip:0", "gzip:10", "gzip:1.5", "lz4:1", "lz5:1", "lzma"]
        {
            assert!(find(words).is_none(), "{words}");
        }
        assert_eq!(find("zstd:-5").map(|(def, level)| (def.word.name, level)), Some(("zstd", -5)));
        #[cfg(feature = "brotli")]
        assert_eq!(find("brotli:0").map(|(def, level)| (def.word.name, level)), Some(("brotli", 0)));
    }
}
