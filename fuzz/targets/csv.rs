#![no_main]

dirigent_fuzz::target!(csv);
