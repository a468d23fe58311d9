#![no_main]

dirigent_fuzz::target!(checkpoint);
