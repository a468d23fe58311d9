#![no_main]

dirigent_fuzz::target!(model_file);
