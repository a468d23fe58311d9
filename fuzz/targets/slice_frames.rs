#![no_main]

dirigent_fuzz::target!(slice_frames);
