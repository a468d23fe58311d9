#![no_main]

dirigent_fuzz::target!(subc_frames);
