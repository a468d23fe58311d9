#![no_main]

dirigent_fuzz::target!(npz);
