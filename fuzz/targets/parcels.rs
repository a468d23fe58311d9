#![no_main]

dirigent_fuzz::target!(parcels);
