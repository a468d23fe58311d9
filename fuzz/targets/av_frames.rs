#![no_main]

dirigent_fuzz::target!(av_frames);
