#![no_main]

dirigent_fuzz::target!(labels);
