#!/bin/sh
# The figures of docs/dev/reproduction.md: what data, methods, seeds, cycles and workers each of them has.
#
# usage: experiments/reproduce.sh FOLDER [synthetic|imagenet|fashion|commits ...]
#
# A reproduction that is broken off goes on where it was when the command is given again. DIRIGENT names the command. The real data sets are read from the
# folder that DATA names: fashion_mnist_pca48.npy with fashion_mnist_pca48.labels.npy, docword.commits.txt.gz with labels.commits.txt.
set -eu

folder=$1
shift
dirigent=${DIRIGENT:-dirigent}
data=${DATA:-data}

for figure in "${@:-synthetic}"; do
    case $figure in
    # Figures 1 to 4 and Table 1a of the paper: its synthetic set, as it is
    synthetic)
        "$dirigent" reproduce --dataset synthetic --seeds 10 --cycles 100 --workers 20 --scaling 1,10,20,30 --out "$folder/synthetic"
        ;;
    # Figures 2 to 4 and Table 1b: a set of the law of the paper's features; 200 rows a cluster instead of 1,281
    imagenet)
        "$dirigent" reproduce --dataset imagenet --rows 200000 --seeds 3 --cycles 50 --workers 20 --scaling 0 --out "$folder/imagenet"
        ;;
    # real features in the place of the paper's
    fashion)
        "$dirigent" reproduce --dataset "$data/fashion_mnist_pca48.npy" --truth "$data/fashion_mnist_pca48.labels.npy" \
            --seeds 3 --cycles 50 --workers 20 --scaling 0 --out "$folder/fashion" \
            -- --family gaussian --covariance isotropic --prior sigma=8,sigma0=8,m0=0
        ;;
    # real documents in the place of the paper's articles
    commits)
        "$dirigent" reproduce --dataset "$data/docword.commits.txt.gz" --truth "$data/labels.commits.txt" \
            --seeds 3 --cycles 20 --workers 20 --scaling 0 --out "$folder/commits" -- --family multinomial --prior gamma=0.1
        ;;
    *)
        echo "$figure is none of synthetic, imagenet, fashion, commits" >&2
        exit 2
        ;;
    esac
done
