#![no_main]

dirigent_fuzz::target!(frames);
